"""What models predict, on data sets: every script stores runs, which report/ turns into tables."""
