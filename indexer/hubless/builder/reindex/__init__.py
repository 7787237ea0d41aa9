"""`hubless reindex`: a job file says what a collection is made of; the job brings the collection up to it.

job_file   the models; yaml_file reads them, with the line of each value
files      which files the job names, and whether they changed
rows       which targets are new, changed or gone
plan       what a run would do, and why
mixing     the query bank of several
next_rows  the targets of the next version: those that stay, and those that came
steps      the work, in checkpoints
gates      what a version must reach before it is published
run        plan → work → gates → publish → keep what is to be kept
"""
