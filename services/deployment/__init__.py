"""One machine's installation: started, supervised, described and backed up."""
