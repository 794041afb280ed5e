import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/** The word count of Streams' own tutorial, exactly once; every single count is told, since nothing is cached. */
public final class WordCount {
    public static void main(String[] args) throws Exception {
        String bootstrap = args[0], id = args[1], from = args[2], to = args[3], state = args[4], protocol = args[5];
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("application.id", id);
        settings.put("state.dir", state);
        settings.put("group.protocol", protocol);
        settings.put("processing.guarantee", "exactly_once_v2");
        settings.put("commit.interval.ms", "100");
        settings.put("statestore.cache.max.bytes", "0");
        settings.put("replication.factor", "1");
        settings.put("num.stream.threads", "2");
        settings.put("repartition.purge.interval.ms", "200");
        settings.put("consumer.auto.offset.reset", "earliest");
        settings.put("producer.transaction.timeout.ms", "5000");
        if (protocol.equals("classic")) {
            settings.put("consumer.session.timeout.ms", "3000");
            settings.put("consumer.heartbeat.interval.ms", "300");
        }
        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, String> lines = builder.stream(from, Consumed.with(Serdes.String(), Serdes.String()));
        lines.flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.with("words", Serdes.String(), Serdes.String()))
            .count(Materialized.as("counts"))
            .toStream()
            .mapValues(count -> Long.toString(count))
            .to(to, Produced.with(Serdes.String(), Serdes.String()));
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.setUncaughtExceptionHandler(error -> {
            System.out.println("died " + error);
            for (Throwable cause = error.getCause(); cause != null; cause = cause.getCause()) {
                System.out.println("  for " + cause);
            }
            System.exit(1);
            return null;
        });
        streams.setStateListener((now, before) -> System.out.println("state " + now));
        streams.start();
        System.in.read(); // until whoever started it has no more to ask
        streams.close(Duration.ofSeconds(20));
    }
}
