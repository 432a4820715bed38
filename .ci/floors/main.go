// Command floors reads a coverage profile and fails where a package is tested less
// than it must be.
//
//	go run ./.ci/floors cover.out
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"path"
	"strconv"
	"strings"
)

const module = "github.com/codeact-dev/codeact/"

// floors are in percent of statements: of one file, or of a package's files.
var floors = map[string]float64{
	"policy":          100,
	"policy/match":    99, // the rest of these two is guards that no input reaches
	"policy/rules":    99,
	"leases":          100,
	"bridge/gates.go": 100,
	"bridge/batch.go": 100,
	"bridge/door.go":  100,
	"bridge":          90,
	"":                80, // the whole
}

// excluded are files whose code runs in the confined child only, where no profile
// can be written, and what is there for tests alone.
var excluded = []string{"interp/worker/confine_", "interp/worker/main.go", "interp/internal/", "interp/interptest/", "bridge/bridgetest/", ".ci/"}

type count struct{ all, hit int }

func main() {
	log.SetFlags(0)
	f, err := os.Open(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	counts, err := read(f)
	if err != nil {
		log.Fatal(err)
	}
	bad := false
	for name, floor := range floors {
		c := counts[name]
		if c.all == 0 {
			log.Fatalf("no statements of %q in the profile", name)
		}
		got := 100 * float64(c.hit) / float64(c.all)
		shown := name
		if name == "" {
			shown = "(whole)"
		}
		fmt.Printf("%-18s %6.2f %% of %d statements, floor %g %%\n", shown, got, c.all, floor)
		bad = bad || got < floor
	}
	if bad {
		log.Fatal("coverage is under its floor")
	}
}

// read adds up a profile. Of a block that several test binaries cover, one is
// enough.
func read(f *os.File) (map[string]count, error) {
	blocks := map[string]int{}
	hit := map[string]bool{}
	s := bufio.NewScanner(f)
	for s.Scan() {
		fields := strings.Fields(s.Text())
		if len(fields) != 3 {
			continue // the mode
		}
		n, err := strconv.Atoi(fields[1])
		if err != nil {
			return nil, err
		}
		blocks[fields[0]] = n
		hit[fields[0]] = hit[fields[0]] || fields[2] != "0"
	}
	counts := map[string]count{}
	for block, n := range blocks {
		file, _, _ := strings.Cut(strings.TrimPrefix(block, module), ":")
		if isExcluded(file) {
			continue
		}
		for _, name := range []string{"", file, path.Dir(file)} {
			c := counts[name]
			c.all += n
			if hit[block] {
				c.hit += n
			}
			counts[name] = c
		}
	}
	return counts, s.Err()
}

func isExcluded(file string) bool {
	for _, e := range excluded {
		if strings.HasPrefix(file, e) {
			return true
		}
	}
	return false
}
