import java.net.URI;
import java.util.Map;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeDefinition;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.KeySchemaElement;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.ResourceInUseException;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;

/** A table, an item, a read and a query through the AWS SDK for Java 2: mvn -q compile exec:java */
public final class First {
  public static void main(String[] args) {
    String endpoint = System.getenv().getOrDefault("STATOR_ENDPOINT", "http://localhost:8000");
    try (DynamoDbClient client =
        DynamoDbClient.builder()
            .endpointOverride(URI.create(endpoint))
            .region(Region.US_EAST_1)
            .credentialsProvider(
                StaticCredentialsProvider.create(AwsBasicCredentials.create("any", "any")))
            .build()) {
      try {
        client.createTable(
            table ->
                table
                    .tableName("films")
                    .billingMode(BillingMode.PAY_PER_REQUEST)
                    .attributeDefinitions(
                        AttributeDefinition.builder()
                            .attributeName("director")
                            .attributeType(ScalarAttributeType.S)
                            .build(),
                        AttributeDefinition.builder()
                            .attributeName("year")
                            .attributeType(ScalarAttributeType.N)
                            .build())
                    .keySchema(
                        KeySchemaElement.builder()
                            .attributeName("director")
                            .keyType(KeyType.HASH)
                            .build(),
                        KeySchemaElement.builder()
                            .attributeName("year")
                            .keyType(KeyType.RANGE)
                            .build()));
      } catch (ResourceInUseException exists) {
        // the table is there from an earlier run
      }
      client.waiter().waitUntilTableExists(request -> request.tableName("films"));

      AttributeValue varda = AttributeValue.fromS("Varda");
      AttributeValue year = AttributeValue.fromN("1962");
      AttributeValue title = AttributeValue.fromS("Cléo de 5 à 7");
      client.putItem(
          put -> put.tableName("films").item(Map.of("director", varda, "year", year, "title", title)));
      var item =
          client.getItem(get -> get.tableName("films").key(Map.of("director", varda, "year", year))).item();
      var found =
          client.query(
              query ->
                  query
                      .tableName("films")
                      .keyConditionExpression("director = :d AND #year < :y")
                      .expressionAttributeNames(Map.of("#year", "year"))
                      .expressionAttributeValues(
                          Map.of(":d", varda, ":y", AttributeValue.fromN("1970"))));
      System.out.println(item.get("title").s() + " " + found.count());
    }
  }
}
