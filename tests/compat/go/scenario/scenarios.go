package scenario

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"time"
)

var all = map[string]func(*Try){
	"acks-0":              func(t *Try) { acks(t, "0") },
	"acks-1":              func(t *Try) { acks(t, "1") },
	"acks-all":            func(t *Try) { acks(t, "all") },
	"codec-none":          func(t *Try) { codec(t, "none") },
	"codec-gzip":          func(t *Try) { codec(t, "gzip") },
	"codec-snappy":        func(t *Try) { codec(t, "snappy") },
	"codec-lz4":           func(t *Try) { codec(t, "lz4") },
	"codec-zstd":          func(t *Try) { codec(t, "zstd") },
	"keys":                keys,
	"headers":             headers,
	"nulls":               nulls,
	"megabyte":            megabyte,
	"assign":              assign,
	"group":               func(t *Try) { group(t, "eager") },
	"cooperative":         cooperative,
	"static-member":       staticMember,
	"modern-group":        func(t *Try) { group(t, "modern") },
	"large-group":         largeGroup,
	"seek-offset":         seekOffset,
	"seek-time":           seekTime,
	"pause":               pause,
	"commit":              commit,
	"lag":                 lag,
	"idempotent":          idempotent,
	"transaction-commit":  transactionCommit,
	"transaction-abort":   transactionAbort,
	"transaction-offsets": transactionOffsets,
	"transaction-fencing": transactionFencing,
	"admin-create":        adminCreate,
	"admin-delete":        adminDelete,
	"admin-grow":          adminGrow,
	"admin-configs":       adminConfigs,
	"admin-offsets":       adminOffsets,
	"admin-groups":        adminGroups,
	"admin-records":       adminRecords,
	"admin-log-dirs":      adminLogDirs,
	"reconnect":           reconnect,
}

func acks(t *Try, acks string) {
	topic := t.topic(1)
	sent := numbered(10, 0)
	told := t.write(topic, Writing{Acks: acks}, sent...)
	for i, record := range told {
		if acks != "0" && record.Offset != int64(i) {
			fail("record %d was told offset %d", i, record.Offset)
		}
	}
	same(t.read(topic, len(sent), false), sent)
}

func codec(t *Try, codec string) {
	topic := t.topic(1)
	var sent []Record
	for i := range 50 {
		value := strings.Repeat(fmt.Sprintf("value %d ", i), 20)
		sent = append(sent, Record{Key: fmt.Appendf(nil, "key %d", i), Value: []byte(value)})
	}
	t.write(topic, Writing{Codec: codec}, sent...)
	same(t.read(topic, len(sent), false), sent)
}

func keys(t *Try) {
	topic := t.topic(3)
	var sent []Record
	for i := range 60 {
		sent = append(sent, Record{Key: fmt.Appendf(nil, "key %d", i%10), Value: fmt.Appendf(nil, "%d", i)})
	}
	t.write(topic, Writing{ByKey: true}, sent...)
	places := map[string]int32{}
	used := map[int32]bool{}
	for _, record := range t.read(topic, len(sent), false) {
		if known, ok := places[string(record.Key)]; ok && known != record.Partition {
			fail("%s is in partitions %d and %d", record.Key, known, record.Partition)
		}
		places[string(record.Key)] = record.Partition
		used[record.Partition] = true
	}
	if len(places) != 10 || len(used) < 2 {
		fail("%d keys in %d partitions", len(places), len(used))
	}
}

func headers(t *Try) {
	topic := t.topic(1)
	sent := []Record{
		{Value: []byte("some"), Headers: []Header{{"a", []byte("1")}, {"b", []byte{0, 255}}, {"a", []byte("2")}, {"c", []byte{}}}},
		{Value: []byte("none")},
	}
	t.write(topic, Writing{}, sent...)
	same(t.read(topic, 2, false), sent)
}

func nulls(t *Try) {
	topic := t.topic(1)
	sent := []Record{
		{Key: nil, Value: []byte("no key")},
		{Key: []byte("no value"), Value: nil},
		{Key: []byte{}, Value: []byte{}},
	}
	t.write(topic, Writing{}, sent...)
	same(t.read(topic, 3, false), sent)
}

func megabyte(t *Try) {
	topic := t.topic(1)
	value := make([]byte, 1_000_000)
	rand.New(rand.NewSource(1)).Read(value)
	sent := []Record{{Value: value}}
	t.write(topic, Writing{}, sent...)
	same(t.read(topic, 1, false), sent)
}

func assign(t *Try) {
	topic := t.topic(3)
	for partition := range int32(3) {
		t.write(topic, Writing{}, numbered(5, partition)...)
	}
	for i, record := range t.read(topic, 15, false) {
		if int(record.Partition) != i/5 || int(record.Offset) != i%5 {
			fail("record %d came from partition %d, offset %d", i, record.Partition, record.Offset)
		}
	}
}

func group(t *Try, protocol string) {
	topic := t.topic(4)
	how := Reading{Topic: topic, Group: t.Name, Protocol: protocol}
	one := t.consumer(how)
	defer one.Close()
	two := t.consumer(how)
	defer two.Close()
	t.settle(2, one, two)
	if protocol == "modern" {
		groups, err := t.Admin().(ModernAdmin).ModernGroups(t.ctx)
		t.must(err, "list groups by type")
		if !slices.Contains(groups, t.Name) {
			fail("the group is not of the modern kind")
		}
	}
	for partition := range int32(4) {
		t.write(topic, Writing{}, numbered(10, partition)...)
	}
	seen := map[string]int{}
	for count := 0; count < 40; {
		for _, member := range []Consumer{one, two} {
			for _, record := range t.poll(member) {
				seen[fmt.Sprint(record.Partition, record.Offset)]++
				count++
			}
		}
		if t.ctx.Err() != nil {
			fail("%d of 40 records came", count)
		}
	}
	if len(seen) != 40 {
		fail("some records came twice, others not at all")
	}
	t.must(one.Commit(t.ctx), "commit")
	t.must(two.Commit(t.ctx), "commit")
}

func cooperative(t *Try) {
	topic := t.topic(4)
	how := Reading{Topic: topic, Group: t.Name, Protocol: "cooperative"}
	one := t.consumer(how)
	defer one.Close()
	t.settle(4, one)
	two := t.consumer(how)
	defer two.Close()
	t.settle(2, one, two)
	if lost := one.Revoked(); len(lost) != 2 {
		fail("the first member lost %v", lost)
	}
}

func staticMember(t *Try) {
	topic := t.topic(4)
	open := func(instance string) Consumer {
		return t.consumer(Reading{Topic: topic, Group: t.Name, Instance: instance})
	}
	one, two := open("one"), open("two")
	defer two.Close()
	t.settle(2, one, two)
	before := slices.Sorted(slices.Values(one.Owned()))
	lost := len(two.Revoked())
	one.Close()
	one = open("one")
	defer one.Close()
	t.settle(2, one, two)
	if after := slices.Sorted(slices.Values(one.Owned())); !slices.Equal(before, after) {
		fail("it owned %v, and then %v", before, after)
	}
	if len(two.Revoked()) != lost {
		fail("the other member was rebalanced")
	}
}

func largeGroup(t *Try) {
	topic := t.topic(40)
	members := make([]Consumer, 20)
	errors := make([]error, 20)
	var opening sync.WaitGroup
	for i := range members {
		opening.Go(func() {
			members[i], errors[i] = t.Client.Consumer(t.ctx, Reading{Topic: topic, Group: t.Name, Protocol: "eager"})
		})
	}
	opening.Wait()
	for i, member := range members {
		t.must(errors[i], "open consumer")
		defer member.Close()
	}
	t.settle(2, members...)
}

func seekOffset(t *Try) {
	topic := t.topic(1)
	t.write(topic, Writing{}, numbered(10, 0)...)
	consumer := t.consumer(Reading{Topic: topic})
	defer consumer.Close()
	t.next(consumer, 10)
	t.must(consumer.Seek(t.ctx, 0, 3), "seek")
	if got := t.next(consumer, 7); got[0].Offset != 3 {
		fail("offset %d came after a seek to 3", got[0].Offset)
	}
	t.must(consumer.Seek(t.ctx, 0, 8), "seek")
	if got := t.next(consumer, 2); got[0].Offset != 8 {
		fail("offset %d came after a seek to 8", got[0].Offset)
	}
}

func seekTime(t *Try) {
	topic := t.topic(1)
	base := time.Now().UnixMilli() - 60_000
	sent := numbered(10, 0)
	for i := range sent {
		sent[i].Time = base + int64(i)*1000
	}
	t.write(topic, Writing{}, sent...)
	consumer := t.consumer(Reading{Topic: topic})
	defer consumer.Close()
	t.next(consumer, 10)
	t.must(consumer.SeekTime(t.ctx, base+4500), "seek by time")
	if got := t.next(consumer, 5); got[0].Offset != 5 || got[0].Time != base+5000 {
		fail("offset %d of time +%d came first", got[0].Offset, got[0].Time-base)
	}
}

func pause(t *Try) {
	topic := t.topic(2)
	consumer := t.consumer(Reading{Topic: topic})
	defer consumer.Close()
	t.write(topic, Writing{}, numbered(1, 0)...)
	t.next(consumer, 1)
	consumer.Pause(0)
	t.quiet(consumer, "nothing was written") // a fetch that was under way may still bring what comes next
	t.write(topic, Writing{}, numbered(5, 0)...)
	t.write(topic, Writing{}, numbered(5, 1)...)
	for _, record := range t.next(consumer, 5) {
		if record.Partition != 1 {
			fail("a record came from the paused partition")
		}
	}
	t.quiet(consumer, "partition 0 is paused")
	consumer.Resume(0)
	if got := t.next(consumer, 5); got[0].Offset != 1 {
		fail("offset %d came first after resuming", got[0].Offset)
	}
}

func commit(t *Try) {
	topic := t.topic(1)
	t.write(topic, Writing{}, numbered(10, 0)...)
	one := t.consumer(Reading{Topic: topic, Group: t.Name})
	t.next(one, 10)
	t.must(one.Commit(t.ctx), "commit")
	one.Close()
	t.write(topic, Writing{}, numbered(5, 0)...)
	two := t.consumer(Reading{Topic: topic, Group: t.Name})
	defer two.Close()
	if got := t.next(two, 5); got[0].Offset != 10 {
		fail("the next member went on at offset %d", got[0].Offset)
	}
}

func lag(t *Try) {
	topic := t.topic(1)
	t.write(topic, Writing{}, numbered(10, 0)...)
	member := t.consumer(Reading{Topic: topic, Group: t.Name})
	defer member.Close()
	t.next(member, 10)
	t.must(member.Commit(t.ctx), "commit")
	t.write(topic, Writing{}, numbered(3, 0)...)
	end, err := t.Admin().Offset(t.ctx, topic, 0, -1)
	t.must(err, "end offset")
	committed, err := t.Admin().GroupOffset(t.ctx, t.Name, topic, 0)
	t.must(err, "committed offset")
	if end-committed != 3 {
		fail("the lag is %d: %d less %d", end-committed, end, committed)
	}
}

func idempotent(t *Try) {
	topic := t.topic(1)
	producer := t.producer(Writing{Idempotent: true})
	defer producer.Close()
	sent := numbered(200, 0)
	for i := 0; i < 200; i += 20 {
		t.send(producer, topic, sent[i:i+20]...)
	}
	same(t.read(topic, 200, false), sent)
}

func transactionCommit(t *Try) {
	topic := t.topic(2)
	producer := t.producer(Writing{Transactional: t.Name})
	defer producer.Close()
	consumer := t.consumer(Reading{Topic: topic, Committed: true})
	defer consumer.Close()
	t.must(producer.Begin(t.ctx), "begin")
	t.send(producer, topic, append(numbered(5, 0), numbered(5, 1)...)...)
	t.quiet(consumer, "the transaction is open")
	t.must(producer.Commit(t.ctx), "commit")
	t.next(consumer, 10)
}

func transactionAbort(t *Try) {
	topic := t.topic(1)
	producer := t.producer(Writing{Transactional: t.Name})
	defer producer.Close()
	t.must(producer.Begin(t.ctx), "begin")
	t.send(producer, topic, numbered(3, 0)...)
	t.must(producer.Abort(t.ctx), "abort")
	t.must(producer.Begin(t.ctx), "begin again")
	kept := []Record{{Value: []byte("kept 1")}, {Value: []byte("kept 2")}}
	t.send(producer, topic, kept...)
	t.must(producer.Commit(t.ctx), "commit")
	same(t.read(topic, 2, true), kept)
	t.read(topic, 5, false)
}

func transactionOffsets(t *Try) {
	from, to := t.topic(1), t.Name+"-to"
	t.must(t.Admin().Create(t.ctx, to, 1, nil), "create topic")
	sent := numbered(10, 0)
	t.write(from, Writing{}, sent...)
	t.must(t.Transform(t.ctx, from, to, t.Name, t.Name, false), "transform, to abort")
	if offset, err := t.Admin().GroupOffset(t.ctx, t.Name, from, 0); err != nil || offset != -1 {
		fail("after an abort the group's offset is %d, %v", offset, err)
	}
	t.must(t.Transform(t.ctx, from, to, t.Name, t.Name, true), "transform, to commit")
	if offset, err := t.Admin().GroupOffset(t.ctx, t.Name, from, 0); err != nil || offset != 10 {
		fail("after a commit the group's offset is %d, %v", offset, err)
	}
	same(t.read(to, 10, true), sent)
}

func transactionFencing(t *Try) {
	topic := t.topic(1)
	one := t.producer(Writing{Transactional: t.Name})
	defer one.Close()
	t.must(one.Begin(t.ctx), "begin")
	t.send(one, topic, numbered(1, 0)...)
	two := t.producer(Writing{Transactional: t.Name})
	defer two.Close()
	t.must(two.Begin(t.ctx), "begin")
	t.send(two, topic, Record{Value: []byte("of the second")})
	t.must(two.Commit(t.ctx), "commit of the second")
	if _, err := one.Send(t.ctx, topic, numbered(1, 0)...); err == nil {
		if err := one.Commit(t.ctx); err == nil {
			fail("the first producer could commit")
		}
	}
	same(t.read(topic, 1, true), []Record{{Value: []byte("of the second")}})
}

func adminCreate(t *Try) {
	admin := t.Admin()
	t.must(admin.Create(t.ctx, t.Name, 3, map[string]string{"retention.ms": "12345"}), "create")
	if err := admin.Create(t.ctx, t.Name, 3, nil); err == nil {
		fail("the same topic was created twice")
	}
	if count, err := admin.Partitions(t.ctx, t.Name); err != nil || count != 3 {
		fail("it has %d partitions, %v", count, err)
	}
	configs, err := admin.Configs(t.ctx, t.Name)
	t.must(err, "configs")
	if configs["retention.ms"] != "12345" {
		fail("retention.ms is %q", configs["retention.ms"])
	}
}

func adminDelete(t *Try) {
	topic := t.topic(1)
	t.must(t.Admin().Delete(t.ctx, topic), "delete")
	if count, err := t.Admin().Partitions(t.ctx, topic); err != nil || count != 0 {
		fail("it still has %d partitions, %v", count, err)
	}
	if err := t.Admin().Delete(t.ctx, topic); err == nil {
		fail("it could be deleted twice")
	}
}

func adminGrow(t *Try) {
	topic := t.topic(1)
	t.must(t.Admin().Grow(t.ctx, topic, 4), "grow")
	if count, err := t.Admin().Partitions(t.ctx, topic); err != nil || count != 4 {
		fail("it has %d partitions, %v", count, err)
	}
	if err := t.Admin().Grow(t.ctx, topic, 2); err == nil {
		fail("it could shrink")
	}
}

func adminConfigs(t *Try) {
	topic := t.topic(1)
	configs, err := t.Admin().Configs(t.ctx, topic)
	t.must(err, "configs")
	if configs["cleanup.policy"] != "delete" || len(configs) < 20 {
		fail("%d configs, cleanup.policy %q", len(configs), configs["cleanup.policy"])
	}
	t.must(t.Admin().SetConfig(t.ctx, topic, "cleanup.policy", "compact"), "set cleanup.policy")
	configs, err = t.Admin().Configs(t.ctx, topic)
	t.must(err, "configs")
	if configs["cleanup.policy"] != "compact" {
		fail("cleanup.policy is %q after the change", configs["cleanup.policy"])
	}
	if err := t.Admin().SetConfig(t.ctx, topic, "cleanup.policy", "nonsense"); err == nil {
		fail("cleanup.policy=nonsense was taken")
	}
}

func adminOffsets(t *Try) {
	topic := t.topic(1)
	base := time.Now().UnixMilli() - 60_000
	sent := numbered(10, 0)
	for i := range sent {
		sent[i].Time = base + int64(i)*1000
	}
	t.write(topic, Writing{}, sent...)
	for time, want := range map[int64]int64{-2: 0, -1: 10, base + 2500: 3} {
		if got, err := t.Admin().Offset(t.ctx, topic, 0, time); err != nil || got != want {
			fail("the offset at %d is %d, not %d, %v", time, got, want, err)
		}
	}
}

func adminGroups(t *Try) {
	topic := t.topic(1)
	admin := t.Admin()
	t.write(topic, Writing{}, numbered(5, 0)...)
	member := t.consumer(Reading{Topic: topic, Group: t.Name})
	t.next(member, 5)
	t.must(member.Commit(t.ctx), "commit")
	groups, err := admin.Groups(t.ctx)
	t.must(err, "list groups")
	if !slices.Contains(groups, t.Name) {
		fail("the group is not listed")
	}
	if state, members, err := admin.Group(t.ctx, t.Name); err != nil || state != "Stable" || members != 1 {
		fail("the group is %s with %d members, %v", state, members, err)
	}
	member.Close()
	for state := ""; state != "Empty"; {
		if state, _, err = admin.Group(t.ctx, t.Name); err != nil {
			fail("describe: %v", err)
		}
	}
	t.must(admin.SetGroupOffset(t.ctx, t.Name, topic, 0, 2), "set offset")
	if offset, err := admin.GroupOffset(t.ctx, t.Name, topic, 0); err != nil || offset != 2 {
		fail("the group's offset is %d, not 2, %v", offset, err)
	}
	t.must(admin.DeleteGroup(t.ctx, t.Name), "delete group")
	groups, err = admin.Groups(t.ctx)
	t.must(err, "list groups")
	if slices.Contains(groups, t.Name) {
		fail("the deleted group is still listed")
	}
}

func adminRecords(t *Try) {
	topic := t.topic(1)
	t.write(topic, Writing{}, numbered(10, 0)...)
	t.must(t.Admin().DeleteRecords(t.ctx, topic, 0, 4), "delete records")
	if first, err := t.Admin().Offset(t.ctx, topic, 0, -2); err != nil || first != 4 {
		fail("the first offset is %d, %v", first, err)
	}
	if got := t.read(topic, 6, false); got[0].Offset != 4 {
		fail("offset %d came first", got[0].Offset)
	}
}

func adminLogDirs(t *Try) {
	topic := t.topic(2)
	t.write(topic, Writing{}, Record{Value: make([]byte, 10_000)})
	if bytes, err := t.Admin().LogDirs(t.ctx, topic); err != nil || bytes < 10_000 {
		fail("the topic takes up %d bytes, %v", bytes, err)
	}
}

func reconnect(t *Try) {
	topic := t.topic(1)
	producer := t.producer(Writing{})
	defer producer.Close()
	consumer := t.consumer(Reading{Topic: topic, Group: t.Name})
	defer consumer.Close()
	sent := numbered(6, 0)
	t.send(producer, topic, sent[:3]...)
	got := t.next(consumer, 3)
	t.must(consumer.Commit(t.ctx), "commit")
	restart()
	t.send(producer, topic, sent[3:]...)
	same(append(got, t.next(consumer, 3)...), sent)
	t.must(consumer.Commit(t.ctx), "commit after the restart")
	same(t.read(topic, 6, false), sent)
}
