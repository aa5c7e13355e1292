// Produces, consumes and runs a group with franz-go.
//
// Arguments: bootstrap servers, topic, partitions. Writes records with every codec, reads them back exactly, then lets
// members with the eager and the cooperative balancer join and leave while records flow.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	patience       = 30 * time.Second
	recordsPerStep = 300
)

type program struct {
	servers    string
	topic      string
	partitions int32
	written    int
}

func main() {
	partitions, err := strconv.Atoi(os.Args[3])
	check(err)
	p := program{servers: os.Args[1], topic: os.Args[2], partitions: int32(partitions)}
	p.roundTrip()
	p.group("eager", kgo.RangeBalancer())
	p.group("cooperative", kgo.CooperativeStickyBalancer())
}

func (p *program) client(options ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(p.servers)}, options...)...)
	check(err)
	return client
}

func (p *program) produce(count int, options ...kgo.Opt) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client := p.client(append(options, kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	defer client.Close()
	records := make([]*kgo.Record, count)
	for i := range records {
		number := p.written + i
		records[i] = &kgo.Record{
			Topic:     p.topic,
			Partition: int32(number) % p.partitions,
			Key:       fmt.Appendf(nil, "key %d", number),
			Value:     fmt.Appendf(nil, "%d", number),
			Headers:   []kgo.RecordHeader{{Key: "number", Value: fmt.Appendf(nil, "%d", number)}},
		}
	}
	check(client.ProduceSync(ctx, records...).FirstErr())
	p.written += count
}

func (p *program) roundTrip() {
	codecs := []kgo.CompressionCodec{
		kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(),
	}
	for _, codec := range codecs {
		p.produce(600, kgo.ProducerBatchCompression(codec)) // idempotent, acks=all: the defaults
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client := p.client(kgo.ConsumeTopics(p.topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer client.Close()
	next := make([]int64, p.partitions)
	for read := 0; read < p.written; {
		fetches := client.PollFetches(ctx)
		check(fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			number := r.Offset*int64(p.partitions) + int64(r.Partition)
			value := strconv.FormatInt(number, 10)
			if r.Offset != next[r.Partition] || string(r.Value) != value || string(r.Key) != "key "+value ||
				len(r.Headers) != 1 || string(r.Headers[0].Value) != value {
				log.Fatalf("read %v where %s belongs", r, value)
			}
			next[r.Partition]++
			read++
		})
	}
	fmt.Println("round trip", p.written)
}

type member struct {
	client *kgo.Client
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// reads counts how often each record was read, and who holds which partition.
type reads struct {
	sync.Mutex
	counts map[string]int
	held   map[string]map[int32]bool
}

func (p *program) group(name string, balancer kgo.GroupBalancer) {
	seen := &reads{counts: map[string]int{}, held: map[string]map[int32]bool{}}
	members := map[string]*member{}
	group := p.topic + "-" + name
	for _, step := range []string{"+a", "+b", "+c", "-a", "+d", "-c"} {
		who := step[1:]
		if step[0] == '+' {
			members[who] = p.join(group, who, balancer, seen)
		} else {
			members[who].leave()
			delete(members, who)
		}
		await(name+" "+step+": partitions shared out", func() bool { return seen.sharedOut(len(members), int(p.partitions)) })
		p.produce(recordsPerStep)
	}
	await(name+": all read", func() bool { return seen.read() == p.written })
	for _, each := range members {
		each.leave()
	}
	fmt.Println(name, seen.read(), seen.twice())
}

func (p *program) join(group, who string, balancer kgo.GroupBalancer, seen *reads) *member {
	ctx, cancel := context.WithCancel(context.Background())
	client := p.client(
		kgo.ConsumerGroup(group), kgo.ClientID(who), kgo.ConsumeTopics(p.topic), kgo.Balancers(balancer),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.HeartbeatInterval(100*time.Millisecond),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, gained map[string][]int32) {
			seen.hold(who, gained[p.topic], true)
		}),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
			seen.hold(who, lost[p.topic], false)
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
			log.Fatalf("%s lost %v", who, lost)
		}),
	)
	joined := &member{client: client, cancel: cancel}
	joined.done.Add(1)
	go func() {
		defer joined.done.Done()
		for ctx.Err() == nil {
			fetches := client.PollFetches(ctx)
			fetches.EachRecord(func(r *kgo.Record) { seen.count(string(r.Value)) })
			if len(fetches.Records()) > 0 {
				check(client.CommitRecords(context.Background(), fetches.Records()...))
			}
			client.AllowRebalance()
		}
	}()
	return joined
}

func (m *member) leave() {
	m.cancel()
	m.done.Wait()
	m.client.CloseAllowingRebalance()
}

func (s *reads) count(value string) {
	s.Lock()
	defer s.Unlock()
	s.counts[value]++
}

func (s *reads) hold(who string, partitions []int32, gained bool) {
	s.Lock()
	defer s.Unlock()
	if s.held[who] == nil {
		s.held[who] = map[int32]bool{}
	}
	for _, partition := range partitions {
		if gained {
			s.held[who][partition] = true
		} else {
			delete(s.held[who], partition)
		}
	}
}

func (s *reads) sharedOut(members, partitions int) bool {
	s.Lock()
	defer s.Unlock()
	sum, busy := 0, 0
	for _, held := range s.held {
		sum += len(held)
		if len(held) > 0 {
			busy++
		}
	}
	return sum == partitions && busy == members
}

func (s *reads) read() int {
	s.Lock()
	defer s.Unlock()
	return len(s.counts)
}

func (s *reads) twice() int {
	s.Lock()
	defer s.Unlock()
	count := 0
	for _, each := range s.counts {
		if each > 1 {
			count++
		}
	}
	return count
}

func await(what string, condition func() bool) {
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			log.Fatalf("not reached: %s", what)
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
