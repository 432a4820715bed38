package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const postTool = `apiVersion: codeact.dev/v1
kind: MockTools
effects: effects.jsonl
tools:
  - {name: post, tier: 1, effect: append, capabilities: [external_send], destinations: [to], params: {type: object, properties: {to: {type: string}, body: {type: string}}}, responses: [{value: sent, external: false}]}
`

// posting is a task that posts a text, in Starlark, and goes on whatever comes of it.
func posting(bodies ...string) string {
	code := ""
	for _, b := range bodies {
		code += fmt.Sprintf("        attempt(post, to=\"bob\", body=%s)\n", b)
	}
	return "tools: {mock: tools.yaml}\nmodel:\n  provider: scripted\n  script:\n    - code: |\n" + code + "        final(\"over\")\n"
}

func (s *stage) effects() int {
	data, _ := os.ReadFile(filepath.Join(s.dir, "effects.jsonl"))
	return strings.Count(string(data), "\n")
}
