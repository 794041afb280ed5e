// franz goes through the scenarios with franz-go.
package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"compat/scenario"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	scenario.Main("github.com/twmb/franz-go", open)
}

type client struct {
	bootstrap string
	admin     *kadm.Client
}

func open(bootstrap string) scenario.Client {
	made, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	if err != nil {
		panic(err)
	}
	return &client{bootstrap, kadm.NewClient(made)}
}

func (c *client) NotApplicable() map[string]string { return nil }

func (c *client) Admin() scenario.Admin { return admin{c.admin} }

type producer struct{ *kgo.Client }

func (c *client) Producer(ctx context.Context, how scenario.Writing) (scenario.Producer, error) {
	acks := map[string]kgo.Acks{"0": kgo.NoAck(), "1": kgo.LeaderAck(), "all": kgo.AllISRAcks()}
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(c.bootstrap),
		kgo.RequiredAcks(acks[how.Acks]),
		kgo.ProducerBatchCompression(codecs[how.Codec]),
		kgo.ProducerBatchMaxBytes(1 << 20), // what brokers take, rather than just under a megabyte
	}
	if !how.ByKey {
		options = append(options, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	if how.Transactional != "" {
		options = append(options, kgo.TransactionalID(how.Transactional))
	} else if !how.Idempotent {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	made, err := kgo.NewClient(options...)
	return producer{made}, err
}

func (p producer) Send(ctx context.Context, topic string, records ...scenario.Record) ([]scenario.Record, error) {
	var sent []*kgo.Record
	for _, record := range records {
		made := &kgo.Record{Topic: topic, Partition: record.Partition, Key: record.Key, Value: record.Value}
		for _, header := range record.Headers {
			made.Headers = append(made.Headers, kgo.RecordHeader{Key: header.Name, Value: header.Value})
		}
		if record.Time != 0 {
			made.Timestamp = time.UnixMilli(record.Time)
		}
		sent = append(sent, made)
	}
	err := p.ProduceSync(ctx, sent...).FirstErr()
	return converted(sent), err
}

func (p producer) Begin(context.Context) error      { return p.BeginTransaction() }
func (p producer) Commit(ctx context.Context) error { return p.EndTransaction(ctx, kgo.TryCommit) }
func (p producer) Abort(ctx context.Context) error  { return p.EndTransaction(ctx, kgo.TryAbort) }

func converted(from []*kgo.Record) []scenario.Record {
	var all []scenario.Record
	for _, record := range from {
		made := scenario.Record{
			Partition: record.Partition, Offset: record.Offset, Key: record.Key, Value: record.Value,
			Time: record.Timestamp.UnixMilli(),
		}
		for _, header := range record.Headers {
			made.Headers = append(made.Headers, scenario.Header{Name: header.Key, Value: header.Value})
		}
		all = append(all, made)
	}
	return all
}

type consumer struct {
	*kgo.Client
	admin   *kadm.Client
	topic   string
	mutex   sync.Mutex
	owned   map[int32]bool
	revoked []int32
}

func (c *client) Consumer(ctx context.Context, how scenario.Reading) (scenario.Consumer, error) {
	made := &consumer{admin: c.admin, topic: how.Topic, owned: map[int32]bool{}}
	options := []kgo.Opt{
		kgo.SeedBrokers(c.bootstrap),
		kgo.ConsumeTopics(how.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(scenario.Moment),
		kgo.MetadataMinAge(20 * time.Millisecond),
	}
	if how.Committed {
		options = append(options, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	if how.Group != "" {
		options = append(options,
			kgo.ConsumerGroup(how.Group),
			kgo.HeartbeatInterval(100*time.Millisecond),
			kgo.SessionTimeout(10*time.Second),
			kgo.DisableAutoCommit(),
			kgo.OnPartitionsAssigned(made.assigned),
			kgo.OnPartitionsRevoked(made.taken),
			kgo.OnPartitionsLost(made.taken),
		)
		switch how.Protocol {
		case "eager":
			options = append(options, kgo.Balancers(kgo.RangeBalancer()))
		case "cooperative":
			options = append(options, kgo.Balancers(kgo.CooperativeStickyBalancer()))
		case "modern":
			options = append(options, kgo.Balancers(kgo.RangeBalancer()), kgo.ServerSideBalancer())
		}
	}
	if how.Instance != "" {
		options = append(options, kgo.InstanceID(how.Instance))
	}
	var err error
	made.Client, err = kgo.NewClient(options...)
	return made, err
}

func (c *consumer) assigned(_ context.Context, _ *kgo.Client, given map[string][]int32) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, partition := range given[c.topic] {
		c.owned[partition] = true
	}
}

func (c *consumer) taken(_ context.Context, _ *kgo.Client, given map[string][]int32) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, partition := range given[c.topic] {
		delete(c.owned, partition)
		c.revoked = append(c.revoked, partition)
	}
}

func (c *consumer) Poll(ctx context.Context) ([]scenario.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, scenario.Moment)
	defer cancel()
	fetches := c.PollFetches(ctx)
	for _, failed := range fetches.Errors() {
		var away *kgo.ErrGroupSession // told to us, and tried again by the client itself
		if ctx.Err() == nil && !errors.As(failed.Err, &away) {
			return nil, failed.Err
		}
	}
	return converted(fetches.Records()), nil
}

func (c *consumer) Owned() []int32 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var all []int32
	for partition := range c.owned {
		all = append(all, partition)
	}
	return all
}

func (c *consumer) Revoked() []int32 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return append([]int32(nil), c.revoked...)
}

func (c *consumer) Commit(ctx context.Context) error { return c.CommitUncommittedOffsets(ctx) }

func (c *consumer) Seek(_ context.Context, partition int32, offset int64) error {
	c.SetOffsets(map[string]map[int32]kgo.EpochOffset{c.topic: {partition: {Epoch: -1, Offset: offset}}})
	return nil
}

func (c *consumer) SeekTime(ctx context.Context, ms int64) error {
	offsets, err := c.admin.ListOffsetsAfterMilli(ctx, ms, c.topic)
	if err != nil {
		return err
	}
	set := map[int32]kgo.EpochOffset{}
	offsets.Each(func(each kadm.ListedOffset) {
		set[each.Partition] = kgo.EpochOffset{Epoch: -1, Offset: each.Offset}
	})
	c.SetOffsets(map[string]map[int32]kgo.EpochOffset{c.topic: set})
	return offsets.Error()
}

func (c *consumer) Pause(partition int32) {
	c.PauseFetchPartitions(map[string][]int32{c.topic: {partition}})
}

func (c *consumer) Resume(partition int32) {
	c.ResumeFetchPartitions(map[string][]int32{c.topic: {partition}})
}

func (c *client) Transform(ctx context.Context, from, to, group, transactional string, commit bool) error {
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(c.bootstrap),
		kgo.TransactionalID(transactional),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(from),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(),
		kgo.HeartbeatInterval(100*time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DefaultProduceTopic(to),
	)
	if err != nil {
		return err
	}
	defer session.Close()
	fetches := session.PollFetches(ctx)
	if err := fetches.Err(); err != nil {
		return err
	}
	if err := session.Begin(); err != nil {
		return err
	}
	for _, record := range fetches.Records() {
		made := &kgo.Record{Key: record.Key, Value: record.Value}
		if err := session.ProduceSync(ctx, made).FirstErr(); err != nil {
			return err
		}
	}
	_, err = session.End(ctx, kgo.TransactionEndTry(commit))
	return err
}
