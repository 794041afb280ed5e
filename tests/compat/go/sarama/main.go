// sarama goes through the scenarios with sarama.
package main

import (
	"context"
	"time"

	"compat/scenario"

	"github.com/IBM/sarama"
)

func main() {
	scenario.Main("github.com/IBM/sarama", open)
}

type client struct {
	bootstrap []string
	client    sarama.Client
	admin     sarama.ClusterAdmin
}

func open(bootstrap string) scenario.Client {
	made, err := sarama.NewClient([]string{bootstrap}, config())
	if err != nil {
		panic(err)
	}
	admin, err := sarama.NewClusterAdminFromClient(made)
	if err != nil {
		panic(err)
	}
	return &client{[]string{bootstrap}, made, admin}
}

func config() *sarama.Config {
	made := sarama.NewConfig()
	made.Version = sarama.MaxVersion
	made.Metadata.Retry.Backoff = 50 * time.Millisecond
	made.Metadata.Retry.Max = 100
	return made
}

func (c *client) NotApplicable() map[string]string {
	return map[string]string{"modern-group": "sarama's members speak the classic protocol only"}
}

func (c *client) Admin() scenario.Admin { return admin{c.client, c.admin} }

type producer struct{ sarama.SyncProducer }

func (c *client) Producer(_ context.Context, how scenario.Writing) (scenario.Producer, error) {
	settings := config()
	settings.Producer.Return.Successes = true
	settings.Producer.MaxMessageBytes = 1 << 20
	settings.Producer.Retry.Max = 50
	settings.Producer.RequiredAcks = map[string]sarama.RequiredAcks{
		"0": sarama.NoResponse, "1": sarama.WaitForLocal, "all": sarama.WaitForAll,
	}[how.Acks]
	settings.Producer.Compression = map[string]sarama.CompressionCodec{
		"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
		"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
	}[how.Codec]
	if !how.ByKey {
		settings.Producer.Partitioner = sarama.NewManualPartitioner
	}
	if how.Idempotent || how.Transactional != "" {
		settings.Producer.Idempotent = true
		settings.Net.MaxOpenRequests = 1
		settings.Producer.Transaction.ID = how.Transactional
	}
	made, err := sarama.NewSyncProducer(c.bootstrap, settings)
	return producer{made}, err
}

func (p producer) Send(_ context.Context, topic string, records ...scenario.Record) ([]scenario.Record, error) {
	var sent []*sarama.ProducerMessage
	for _, record := range records {
		made := &sarama.ProducerMessage{Topic: topic, Partition: record.Partition}
		if record.Key != nil {
			made.Key = sarama.ByteEncoder(record.Key)
		}
		if record.Value != nil {
			made.Value = sarama.ByteEncoder(record.Value)
		}
		for _, header := range record.Headers {
			made.Headers = append(made.Headers, sarama.RecordHeader{Key: []byte(header.Name), Value: header.Value})
		}
		if record.Time != 0 {
			made.Timestamp = time.UnixMilli(record.Time)
		}
		sent = append(sent, made)
	}
	err := p.SendMessages(sent)
	told := append([]scenario.Record(nil), records...)
	for i, message := range sent {
		told[i].Partition, told[i].Offset = message.Partition, message.Offset
	}
	return told, err
}

func (p producer) Begin(context.Context) error  { return p.BeginTxn() }
func (p producer) Commit(context.Context) error { return p.CommitTxn() }
func (p producer) Abort(context.Context) error  { return p.AbortTxn() }
func (p producer) Close()                       { p.SyncProducer.Close() }

func (c *client) Consumer(ctx context.Context, how scenario.Reading) (scenario.Consumer, error) {
	settings := config()
	settings.Consumer.Offsets.Initial = sarama.OffsetOldest
	settings.Consumer.MaxWaitTime = 50 * time.Millisecond
	settings.Consumer.Retry.Backoff = 50 * time.Millisecond
	if how.Committed {
		settings.Consumer.IsolationLevel = sarama.ReadCommitted
	}
	if how.Group == "" {
		return c.reader(how.Topic, settings)
	}
	return c.member(ctx, how, settings)
}

func (c *client) Transform(ctx context.Context, from, to, group, transactional string, commit bool) error {
	writer, err := c.Producer(ctx, scenario.Writing{Acks: "all", Codec: "none", Transactional: transactional})
	if err != nil {
		return err
	}
	defer writer.Close()
	reader, err := c.Consumer(ctx, scenario.Reading{Topic: from, Group: group, Protocol: "eager", Committed: true})
	if err != nil {
		return err
	}
	defer reader.Close()
	var got []scenario.Record
	for len(got) == 0 {
		if got, err = reader.Poll(ctx); err != nil {
			return err
		}
	}
	if err := writer.Begin(ctx); err != nil {
		return err
	}
	if _, err := writer.Send(ctx, to, got...); err != nil {
		return err
	}
	last := got[len(got)-1]
	offsets := map[string][]*sarama.PartitionOffsetMetadata{
		from: {{Partition: last.Partition, Offset: last.Offset + 1}},
	}
	who := sarama.NewConsumerGroupMetadataFromSession(reader.(*member).session(), group, nil)
	if err := writer.(producer).AddOffsetsToTxnWithGroupMetadata(offsets, who); err != nil {
		return err
	}
	if commit {
		return writer.Commit(ctx)
	}
	return writer.Abort(ctx)
}
