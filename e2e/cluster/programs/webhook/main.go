// Command webhook is an admission webhook that refuses whatever it is asked about, for `check`: it
// shows that the API server reaches a webhook in a pod through its Service.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"
)

type review struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Request    *request  `json:"request,omitempty"`
	Response   *response `json:"response,omitempty"`
}

type request struct {
	UID string `json:"uid"`
}

type response struct {
	UID     string `json:"uid"`
	Allowed bool   `json:"allowed"`
	Status  status `json:"status"`
}

type status struct {
	Message string `json:"message"`
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: webhook ADDRESS CERTIFICATE KEY")
	}
	log.Fatal(http.ListenAndServeTLS(os.Args[1], os.Args[2], os.Args[3], http.HandlerFunc(refuse)))
}

func refuse(writer http.ResponseWriter, asked *http.Request) {
	var review review
	if err := json.NewDecoder(asked.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(writer, "not an AdmissionReview", http.StatusBadRequest)
		return
	}
	review.Response = &response{UID: review.Request.UID, Status: status{Message: "refused by the webhook in a pod"}}
	review.Request = nil
	writer.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(writer).Encode(review) // to a client that has gone
}
