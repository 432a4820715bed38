package store

import (
	"encoding/json"
	"os"
	"testing"
)

var benchBody = struct {
	Call int    `json:"call"`
	Tool string `json:"tool"`
	Text string `json:"text"`
}{7, "fs_read", "a text of the length that most results have, which is a line or two and seldom more than that"}

func BenchmarkAppend(b *testing.B) {
	for name, durable := range map[string]bool{"grouped": false, "durable": true} {
		b.Run(name, func(b *testing.B) {
			tr := must[*Trace](b)(newStore(b).Create("r1"))
			defer tr.Close()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tr.Append("call.completed", benchBody, noon, durable); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEncodingAlone is what Append cannot do without.
func BenchmarkEncodingAlone(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := json.Marshal(benchBody); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	path := writeRun(b, newStore(b), "r1", 10_000)
	info := must[os.FileInfo](b)(os.Stat(path))
	b.SetBytes(info.Size())
	for b.Loop() {
		if _, err := Verify(path); err != nil {
			b.Fatal(err)
		}
	}
}
