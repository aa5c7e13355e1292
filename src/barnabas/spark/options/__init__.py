"""The options of source and sink: names, values, errors. Pure functions, without a broker or Spark."""
