package codeact_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/engine"
	"github.com/codeact-dev/codeact/engine/models"
	"github.com/codeact-dev/codeact/engine/store"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/policy"
)

// A program of your own, with a tool of its own. Its main begins with
// interp.MaybeWorker(), so that blocks run in a confined process; this example runs
// them in its own process instead, which is for trusted code and for tests.
func Example() {
	dir, err := os.MkdirTemp("", "codeact-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	// A tool says what it can do. Free is the tier that never asks.
	weather := bridge.Tool{
		Name:   "weather",
		Doc:    "Returns the temperature of a city in degrees Celsius.",
		Params: bridge.MustSchema(`{"type":"object","required":["city"],"properties":{"city":{"type":"string"}}}`),
		Tier:   policy.Free,
		Caps:   policy.Declare(policy.UntrustedInput),
		Run: func(_ context.Context, p *bridge.Permit) (bridge.Output, error) {
			return bridge.Output{Value: int64(len(p.String("city")))}, nil
		},
	}
	door, err := bridge.New(bridge.Config{Tools: []bridge.Tool{weather}, Security: policy.Security{SendsAfterPrivate: true, Named: policy.NamedAsk}})
	if err != nil {
		log.Fatal(err)
	}
	in, err := interp.New(interp.Config{Unsafe: true})
	if err != nil {
		log.Fatal(err)
	}
	defer in.Close()
	traces, err := store.Open(filepath.Join(dir, "traces"))
	if err != nil {
		log.Fatal(err)
	}

	// The model of this example is a script. models.New makes one of a provider.
	model := models.NewScripted([]models.Step{{Code: `final({"degrees": weather(city="Oslo")})`}})
	e, err := engine.New(engine.Config{Model: model, Bridge: door, Interp: in, Store: traces})
	if err != nil {
		log.Fatal(err)
	}
	o, err := e.Run(context.Background(), engine.Task{Name: "weather", Goal: "How warm is it in Oslo?", Principal: "example"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(o.Status, string(o.Output))
	// Output: completed {"degrees":4}
}
