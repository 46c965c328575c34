// Sorts, encodes and compresses invented orders until it is killed.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand"
	"sort"
)

type order struct {
	ID       int      `json:"id"`
	Customer string   `json:"customer"`
	Items    []string `json:"items"`
	Cents    int64    `json:"cents"`
}

func invented(random *rand.Rand, count int) []order {
	orders := make([]order, count)
	for k := range orders {
		items := make([]string, 1+random.Intn(6))
		for item := range items {
			items[item] = fmt.Sprintf("item-%05d", random.Intn(50000))
		}
		orders[k] = order{k, fmt.Sprintf("customer-%d", random.Intn(1000)), items, random.Int63n(1e6)}
	}
	return orders
}

func exported(orders []order) int {
	sort.Slice(orders, func(a, b int) bool { return orders[a].Cents < orders[b].Cents })
	text, err := json.Marshal(orders)
	if err != nil {
		panic(err)
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	writer.Write(text)
	writer.Close()
	return packed.Len()
}

func main() {
	random := rand.New(rand.NewSource(7))
	for total := 0; ; total++ {
		total += exported(invented(random, 3000)) & 1
	}
}
