package flow

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"sort"
	"testing"
)

func TestDbg(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 0))
	errs := map[string]int{}
	re := regexp.MustCompile(`"[^"]*"|[0-9]+`)
	for range 1500 {
		m := world(variation{tool: "secret", kind: 0}, 0)
		for _, b := range (&generator{intn: rnd.IntN}).program() {
			err := m.block(b)
			k := "ok"
			if err != nil {
				k = re.ReplaceAllString(err.Error(), "_")
				if len(k) > 60 {
					k = k[:60]
				}
			}
			errs[k]++
		}
	}
	var ks []string
	for k := range errs {
		ks = append(ks, fmt.Sprintf("%5d %s", errs[k], k))
	}
	sort.Sort(sort.Reverse(sort.StringSlice(ks)))
	for i, k := range ks {
		if i < 30 {
			fmt.Println(k)
		}
	}
}
