"""The options of source and sink: names, values, refusals. Pure; nothing here asks a broker or needs Spark."""
