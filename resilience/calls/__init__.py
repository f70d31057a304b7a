"""What a caller may say and gets: raw, typed and streamed."""
