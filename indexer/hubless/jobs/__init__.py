"""`hubless reindex`: a job file says what a collection is made of; the job brings the collection up to it."""
