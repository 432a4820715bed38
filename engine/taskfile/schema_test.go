package taskfile

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/codeact-dev/codeact/engine/taskfile/strictyaml"
)

func TestEverySchemaIsOne(t *testing.T) {
	for _, kind := range kinds {
		data, err := Schema(kind)
		if err != nil {
			t.Fatal(err)
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if _, err := s.Resolve(nil); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if _, err := Schema("hook"); err == nil || err.Error() != `taskfile: schema "hook": want one of task, mock, script, home` {
		t.Errorf("Schema(hook) = %v", err)
	}
}

// elsewhereKeys are the keys that are read into a field of another shape.
var elsewhereKeys = map[string]bool{
	"apiVersion": true, "kind": true, "parameters": true, "instructions": true, "policies": true, "tools.mock": true,
	"security.blockPrivateIPs": true, "security.markUntrusted": true, "security.allowPrivate": true, "workspace.sandbox.required": true,
	"model.script": true, "model.roles.*.script": true,
}

// TestTheTypesHaveEveryKeyAndDefaultOfTheSchema walks both together.
func TestTheTypesHaveEveryKeyAndDefaultOfTheSchema(t *testing.T) {
	task := new(Task)
	decoder{new(strictyaml.Source)}.fill(reflect.ValueOf(task).Elem(), nil)
	checked := 0
	var walk func(path string, s *strictyaml.Schema, v reflect.Value)
	walk = func(path string, s *strictyaml.Schema, v reflect.Value) {
		s = deref(s)
		if s.AdditionalProperties != nil && v.Kind() == reflect.Map && strings.Count(path, "roles") < 2 {
			walk(path+".*", s.AdditionalProperties, elem(v))
		}
		if s.Items != nil && v.Kind() == reflect.Slice {
			walk(path, s.Items, elem(v))
		}
		for key, sub := range s.Properties {
			at := strings.TrimPrefix(path+"."+key, ".")
			field, ok := fieldOf(v, key)
			switch {
			case elsewhereKeys[at] || key == "type" && v.Type() == reflect.TypeFor[Command]():
				continue
			case !ok:
				t.Errorf("%s has no field in %s", at, v.Type())
				continue
			}
			checked++
			if sub.Default != nil && string(sub.Default) != "false" {
				checkDefault(t, at, sub.Default, field)
			}
			walk(at, sub, field)
		}
	}
	walk("", schemas["task"](), reflect.ValueOf(task).Elem())
	if checked < 100 {
		t.Errorf("only %d keys were compared", checked)
	}
}

func deref(s *strictyaml.Schema) *strictyaml.Schema {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		return schemas["task"]().Defs[name]
	}
	return s
}

// elem is a zero element of a list, mapping or pointer.
func elem(v reflect.Value) reflect.Value { return reflect.New(v.Type().Elem()).Elem() }

func fieldOf(v reflect.Value, key string) (reflect.Value, bool) {
	switch v.Kind() {
	case reflect.Map:
		return elem(v), true
	case reflect.Pointer:
		v = elem(v)
	}
	for i := range v.NumField() {
		tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		if tag == key {
			return v.Field(i), true
		}
	}
	return v, false
}

func checkDefault(t *testing.T, path string, want json.RawMessage, field reflect.Value) {
	t.Helper()
	text := strings.Trim(string(want), `"`)
	got := field.Interface()
	switch v := got.(type) {
	case time.Duration:
		d, err := ParseDuration(text)
		if err != nil || d != v {
			t.Errorf("%s is %v by default, the schema says %s", path, v, want)
		}
	case int64:
		n, err := ParseAmount(text)
		if err != nil || n != v {
			t.Errorf("%s is %d by default, the schema says %s", path, v, want)
		}
	default:
		if fmt.Sprint(v) != text {
			t.Errorf("%s is %v by default, the schema says %s", path, v, want)
		}
	}
}
