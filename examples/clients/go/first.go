// A table, an item, a read and a query through the AWS SDK for Go:
//
//	go mod init first && go mod tidy && go run .
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func text(value string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: value} }
func number(value string) types.AttributeValue { return &types.AttributeValueMemberN{Value: value} }

func main() {
	ctx := context.Background()
	endpoint := os.Getenv("STATOR_ENDPOINT")
	if endpoint == "" {
		endpoint = "http://localhost:8000"
	}
	client := dynamodb.New(dynamodb.Options{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider("any", "any", ""),
	})

	films := aws.String("films")
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:   films,
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("director"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("year"), AttributeType: types.ScalarAttributeTypeN},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("director"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("year"), KeyType: types.KeyTypeRange},
		},
	})
	var exists *types.ResourceInUseException // the table is there from an earlier run
	if err != nil && !errors.As(err, &exists) {
		log.Fatal(err)
	}
	waiter := dynamodb.NewTableExistsWaiter(client)
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: films}, 30*time.Second); err != nil {
		log.Fatal(err)
	}

	key := map[string]types.AttributeValue{"director": text("Varda"), "year": number("1962")}
	item := map[string]types.AttributeValue{"director": key["director"], "year": key["year"], "title": text("Cléo de 5 à 7")}
	if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: films, Item: item}); err != nil {
		log.Fatal(err)
	}
	got, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: films, Key: key})
	if err != nil {
		log.Fatal(err)
	}
	found, err := client.Query(ctx, &dynamodb.QueryInput{
		TableName:                 films,
		KeyConditionExpression:    aws.String("director = :d AND #year < :y"),
		ExpressionAttributeNames:  map[string]string{"#year": "year"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":d": text("Varda"), ":y": number("1970")},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(got.Item["title"].(*types.AttributeValueMemberS).Value, found.Count)
}
