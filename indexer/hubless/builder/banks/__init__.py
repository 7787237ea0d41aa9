"""Query banks: checked, split, mixed, thinned, and compared with what people ask.

Stands on `measures` and `kernels`; below `inputs` and the pipeline.
"""
