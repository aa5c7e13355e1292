"""A blocking Kafka client for tools and Spark: connections, the way to leaders and coordinators, producing."""
