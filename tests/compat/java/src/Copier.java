import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Reads a topic, works on each record, writes the result to another: exactly once. */
public final class Copier {
    public static void main(String[] args) {
        String bootstrap = args[0], from = args[1], to = args[2], group = args[3], id = args[4];
        Properties reading = new Properties();
        reading.put("bootstrap.servers", bootstrap);
        reading.put("group.id", group);
        reading.put("enable.auto.commit", "false");
        reading.put("auto.offset.reset", "earliest");
        reading.put("isolation.level", "read_committed");
        reading.put("session.timeout.ms", "6000");
        reading.put("heartbeat.interval.ms", "500");
        reading.put("fetch.max.wait.ms", "20");
        reading.put("reconnect.backoff.max.ms", "200");
        reading.put("max.poll.records", "50");
        Properties writing = new Properties();
        writing.put("bootstrap.servers", bootstrap);
        writing.put("transactional.id", id);
        writing.put("transaction.timeout.ms", "5000");
        writing.put("reconnect.backoff.max.ms", "200");
        var strings = new StringDeserializer();
        var consumer = new KafkaConsumer<String, String>(reading, strings, strings);
        var producer = new KafkaProducer<String, String>(writing, new StringSerializer(), new StringSerializer());
        producer.initTransactions();
        consumer.subscribe(List.of(from));
        while (true) {
            ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(100));
            if (records.isEmpty()) {
                continue;
            }
            try {
                producer.beginTransaction();
                Map<TopicPartition, OffsetAndMetadata> read = new HashMap<>();
                for (ConsumerRecord<String, String> record : records) {
                    producer.send(new ProducerRecord<>(to, record.partition(), record.key(), "<" + record.value() + ">"));
                    read.put(
                        new TopicPartition(record.topic(), record.partition()),
                        new OffsetAndMetadata(record.offset() + 1));
                }
                producer.sendOffsetsToTransaction(read, consumer.groupMetadata());
                producer.commitTransaction();
                System.out.println("committed " + records.count());
            } catch (ProducerFencedException | OutOfOrderSequenceException | InvalidProducerEpochException fatal) {
                throw fatal;
            } catch (KafkaException error) {
                System.out.println("failed " + error);
                producer.abortTransaction();
                for (var place : consumer.assignment()) {
                    OffsetAndMetadata committed = consumer.committed(java.util.Set.of(place)).get(place);
                    consumer.seek(place, committed == null ? 0 : committed.offset());
                }
            }
        }
    }
}
