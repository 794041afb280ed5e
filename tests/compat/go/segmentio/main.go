// segmentio goes through the scenarios with segmentio's kafka-go.
package main

import (
	"context"
	"errors"
	"time"

	"compat/scenario"

	"github.com/segmentio/kafka-go"
)

func main() {
	scenario.Main("github.com/segmentio/kafka-go", open)
}

type client struct {
	bootstrap string
	kafka     *kafka.Client
}

func open(bootstrap string) scenario.Client {
	return &client{bootstrap, &kafka.Client{Addr: kafka.TCP(bootstrap), Timeout: 20 * time.Second}}
}

func (c *client) NotApplicable() map[string]string {
	const writer = "kafka-go's writer is neither idempotent nor transactional"
	return map[string]string{
		"nulls":               "kafka-go's readers give null and empty alike",
		"cooperative":         "kafka-go rebalances eagerly only",
		"static-member":       "kafka-go's members have no instance ids",
		"modern-group":        "kafka-go's members speak the classic protocol only",
		"pause":               "kafka-go's readers cannot be paused",
		"idempotent":          writer,
		"transaction-commit":  writer,
		"transaction-abort":   writer,
		"transaction-offsets": writer,
		"transaction-fencing": writer,
		"admin-records":       "kafka-go has no DeleteRecords",
		"admin-log-dirs":      "kafka-go has no DescribeLogDirs",
	}
}

func (c *client) Admin() scenario.Admin { return admin{c.kafka} }

type producer struct{ *kafka.Writer }

func (c *client) Producer(_ context.Context, how scenario.Writing) (scenario.Producer, error) {
	writer := &kafka.Writer{
		Addr:         kafka.TCP(c.bootstrap),
		BatchTimeout: 5 * time.Millisecond,
		BatchBytes:   1 << 20,
		MaxAttempts:  50,
		RequiredAcks: map[string]kafka.RequiredAcks{
			"0": kafka.RequireNone, "1": kafka.RequireOne, "all": kafka.RequireAll,
		}[how.Acks],
		Compression: map[string]kafka.Compression{
			"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
		}[how.Codec],
		Balancer: byPartition{},
	}
	if how.ByKey {
		writer.Balancer = &kafka.Hash{}
	}
	return producer{writer}, nil
}

// byPartition puts a message where its record says, carried there in WriterData.
type byPartition struct{}

func (byPartition) Balance(message kafka.Message, _ ...int) int {
	return int(message.WriterData.(int32))
}

func (p producer) Send(ctx context.Context, topic string, records ...scenario.Record) ([]scenario.Record, error) {
	var sent []kafka.Message
	for _, record := range records {
		made := kafka.Message{Topic: topic, WriterData: record.Partition, Key: record.Key, Value: record.Value}
		for _, header := range record.Headers {
			made.Headers = append(made.Headers, kafka.Header{Key: header.Name, Value: header.Value})
		}
		if record.Time != 0 {
			made.Time = time.UnixMilli(record.Time)
		}
		sent = append(sent, made)
	}
	return nil, p.WriteMessages(ctx, sent...)
}

func (p producer) Begin(context.Context) error  { return errors.ErrUnsupported }
func (p producer) Commit(context.Context) error { return errors.ErrUnsupported }
func (p producer) Abort(context.Context) error  { return errors.ErrUnsupported }
func (p producer) Close()                       { p.Writer.Close() }

func (c *client) Transform(context.Context, string, string, string, string, bool) error {
	return errors.ErrUnsupported
}
