package bridge_test

import (
	"testing"

	"github.com/codeact-dev/codeact/bridge"
)

// The validator follows a reference without end, and a stack overflow ends the
// process: such a schema is refused before anything runs.
func TestASchemaThatCannotBeCheckedIsRefused(t *testing.T) {
	for _, text := range []string{
		`{"$ref":"#"}`,
		`{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`,
		`{"type":"object","properties":{"a":{"allOf":[{"$ref":"#/properties/a"}]}}}`,
		`{"type":"object","properties":{"a":{"$dynamicRef":"#x"}}}`,
		`{"type":"object","properties":{"a":{"type":"strng"}}}`,
		`{"type":"array"}`,
		`{`,
	} {
		if _, err := bridge.ParseSchema([]byte(text)); err == nil {
			t.Errorf("%s was read", text)
		}
	}
	fine := `{"type":"object","properties":{"type":{"type":"string"},"a":{"enum":["$ref",{"$ref":"x"}],"default":"y"}}}`
	if _, err := bridge.ParseSchema([]byte(fine)); err != nil {
		t.Errorf("%s: %v", fine, err)
	}
}
