"""Lists of ids and scores from any search, as a log has them: corrected and fused without a vector."""
