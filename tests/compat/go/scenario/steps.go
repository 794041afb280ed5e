package scenario

import (
	"bytes"
	"fmt"
	"sort"
	"time"
)

// topic creates one that is named after the scenario.
func (t *Try) topic(partitions int) string {
	t.must(t.Admin().Create(t.ctx, t.Name, partitions, nil), "create topic")
	return t.Name
}

func (t *Try) producer(how Writing) Producer {
	if how.Acks == "" {
		how.Acks = "all"
	}
	if how.Codec == "" {
		how.Codec = "none"
	}
	producer, err := t.Client.Producer(t.ctx, how)
	t.must(err, "open producer")
	return producer
}

func (t *Try) consumer(how Reading) Consumer {
	if how.Protocol == "" {
		how.Protocol = "eager"
	}
	consumer, err := t.Client.Consumer(t.ctx, how)
	t.must(err, "open consumer")
	return consumer
}

func (t *Try) send(producer Producer, topic string, records ...Record) []Record {
	sent, err := producer.Send(t.ctx, topic, records...)
	t.must(err, "send")
	return sent
}

// write sends with a producer of its own.
func (t *Try) write(topic string, how Writing, records ...Record) []Record {
	producer := t.producer(how)
	defer producer.Close()
	return t.send(producer, topic, records...)
}

func (t *Try) poll(consumer Consumer) []Record {
	got, err := consumer.Poll(t.ctx)
	t.must(err, "poll")
	return got
}

// next is the next count records: no more, no fewer.
func (t *Try) next(consumer Consumer, count int) []Record {
	var got []Record
	for len(got) < count {
		if t.ctx.Err() != nil {
			fail("%d of %d records came", len(got), count)
		}
		got = append(got, t.poll(consumer)...)
	}
	if len(got) > count {
		fail("%d records came, not %d", len(got), count)
	}
	return got
}

// read is all of a topic, by partition and offset, and nothing after it.
func (t *Try) read(topic string, count int, committed bool) []Record {
	consumer := t.consumer(Reading{Topic: topic, Committed: committed})
	defer consumer.Close()
	got := t.next(consumer, count)
	if more := t.poll(consumer); len(more) > 0 {
		fail("%d records too many came", len(more))
	}
	sort.SliceStable(got, func(i, j int) bool {
		return got[i].Partition < got[j].Partition ||
			got[i].Partition == got[j].Partition && got[i].Offset < got[j].Offset
	})
	return got
}

// quiet polls for a while and wants nothing of it.
func (t *Try) quiet(consumer Consumer, why string) {
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		if got := t.poll(consumer); len(got) > 0 {
			fail("%s, yet %d records came", why, len(got))
		}
	}
}

// settle waits until each member owns so many partitions, and all of them different ones.
func (t *Try) settle(each int, members ...Consumer) {
	for {
		owned := map[int32]bool{}
		settled := true
		for _, member := range members {
			mine := member.Owned()
			settled = settled && len(mine) == each
			for _, partition := range mine {
				owned[partition] = true
			}
		}
		if settled && len(owned) == each*len(members) {
			return
		}
		if t.ctx.Err() != nil {
			var says []string
			for _, member := range members {
				says = append(says, fmt.Sprint(member.Owned()))
			}
			fail("the group did not settle: members own %v", says)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func numbered(count int, partition int32) []Record {
	var all []Record
	for i := range count {
		all = append(all, Record{Partition: partition, Value: fmt.Appendf(nil, "value %d", i)})
	}
	return all
}

// same wants got to be what was sent: keys, values, headers, in order.
func same(got, sent []Record) {
	if len(got) != len(sent) {
		fail("%d records came, not %d", len(got), len(sent))
	}
	for i := range got {
		if !alike(got[i].Key, sent[i].Key) || !alike(got[i].Value, sent[i].Value) {
			fail("record %d came back as %.60q %.60q", i, got[i].Key, got[i].Value)
		}
		if len(got[i].Headers) != len(sent[i].Headers) {
			fail("record %d came back with %d headers", i, len(got[i].Headers))
		}
		for h, header := range got[i].Headers {
			if header.Name != sent[i].Headers[h].Name || !bytes.Equal(header.Value, sent[i].Headers[h].Value) {
				fail("record %d: header %d came back as %q", i, h, header)
			}
		}
	}
}

// alike tells nil from empty, as Kafka does.
func alike(a, b []byte) bool {
	return bytes.Equal(a, b) && (a == nil) == (b == nil)
}
