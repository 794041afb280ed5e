"""Record batches: read in place, built, checked, compressed."""
