"""What the claims share: data, methods, statistics, timing, results and the pages that show them."""
