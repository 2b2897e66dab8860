"""The pages: tables, figures and verdicts from the stored results."""
