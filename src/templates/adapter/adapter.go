// An adapter for {{protocol}}: JSON-RPC 2.0 on stdin and stdout, one object per line. Go 1.21 or newer.
//
//	go build -o adapter .
//	proofmark adapter check ./adapter
//	proofmark check --adapter ./adapter --protocol {{protocol}}
//
// Write a function for a method, and enable its line in methods. A function takes the params and returns the result; to answer
// with an error it returns a *failure. `proofmark adapter methods --protocol {{protocol}}` prints every method with an example.
package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"unicode/utf8"
)

const (
	name    = "my library"
	version = "0.1.0"
)

// A failure is an answer that is an error.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

type params map[string]any

type method func(params) (any, *failure)

// unhex gives the bytes under a name, written as hex.
func (given params) unhex(name string) ([]byte, *failure) {
	text, isText := given[name].(string)
	data, err := hex.DecodeString(text)
	if !isText || err != nil {
		return nil, &failure{Code: -32602, Message: name + " must be pairs of hex digits"}
	}
	return data, nil
}

// The methods that the library has. All others are answered with "unsupported".
var methods = map[string]method{
{{methods}}}

func describe() any {
	operations := []string{}
	for name := range methods {
		operations = append(operations, name)
	}
	sort.Strings(operations)
	return map[string]any{"name": name, "version": version, "protocols": []string{"{{protocol}}"}, "operations": operations}
}

func call(request map[string]any) (result any, fault *failure) {
	// Whatever the library does, the next request has to be answered.
	defer func() {
		if cause := recover(); cause != nil {
			fmt.Fprintln(os.Stderr, cause)
			result, fault = nil, &failure{Code: -32603, Message: fmt.Sprint(cause)}
		}
	}()
	called, isText := request["method"].(string)
	if request["jsonrpc"] != "2.0" || !isText {
		return nil, &failure{Code: -32600, Message: "not a JSON-RPC 2.0 request"}
	}
	method, known := methods[called]
	if !known && called != "describe" {
		return nil, &failure{Code: -32601, Message: "unsupported: " + called}
	}
	given, isObject := request["params"].(map[string]any)
	if _, present := request["params"]; present && !isObject {
		return nil, &failure{Code: -32602, Message: "params must be an object"}
	}
	if called == "describe" {
		return describe(), nil
	}
	return method(given)
}

// answer gives the answer to one line, or nil to a notification.
func answer(line []byte) map[string]any {
	var request any
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber() // keeps large numbers as they are
	err := decoder.Decode(&request)
	if err != nil || decoder.More() || !utf8.Valid(line) {
		return map[string]any{"jsonrpc": "2.0", "id": nil, "error": failure{Code: -32700, Message: "not JSON"}}
	}
	object, isObject := request.(map[string]any)
	result, fault := call(object)
	if _, present := object["id"]; isObject && !present {
		return nil
	}
	if fault != nil {
		return map[string]any{"jsonrpc": "2.0", "id": object["id"], "error": fault}
	}
	return map[string]any{"jsonrpc": "2.0", "id": object["id"], "result": result}
}

func main() {
	input := bufio.NewReader(os.Stdin)
	for {
		line, err := input.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if reply := answer(line); reply != nil {
				text, _ := json.Marshal(reply)
				os.Stdout.Write(append(text, '\n'))
			}
		}
		if err != nil {
			return
		}
	}
}
