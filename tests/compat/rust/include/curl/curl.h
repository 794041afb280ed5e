/* librdkafka 2.12.1 includes this where it is built without curl, too, and then wants nothing of it. */
