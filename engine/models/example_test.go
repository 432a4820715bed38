package models_test

import (
	"context"
	"fmt"

	"github.com/codeact-dev/codeact/engine/models"
)

func ExampleNewScripted() {
	m := models.NewScripted([]models.Step{
		{Text: "I will read it first.", Code: "print(inbox_read())"},
		{ExpectContains: "hello", Code: "final({'done': True})"},
	})
	for _, observation := range []string{"begin", "hello from Ada", "and now?"} {
		reply, err := m.Complete(context.Background(), models.Prompt{
			Messages: []models.Message{{Role: models.RoleUser, Text: observation}},
		})
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(reply.Text)
	}
	// Output:
	// I will read it first.
	//
	// ```starlark
	// print(inbox_read())
	// ```
	// ```starlark
	// final({'done': True})
	// ```
	// models: scripted: script has 2 steps; the run asked for step 3 (script ended)
}

func ExampleNew() {
	_, err := models.New(models.Config{
		Provider: models.OpenAICompatible,
		Name:     "some-model",
		BaseURL:  "http://models.example/v1",
		Key:      "secret",
	})
	fmt.Println(err)
	// Output:
	// 1 error occurred:
	// 	* models: key: would be sent in the clear: use https, or http to this machine only
}
