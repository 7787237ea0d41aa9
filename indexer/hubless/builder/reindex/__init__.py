"""`hubless reindex`: a job file says what a collection is made of; the job brings the collection up to it.

job_file → source_files, row_changes → plan → job_bank, job_targets → the pipeline → gates → run
"""
