package dev.stator.junit;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** Sends operations of DynamoDB without an SDK. Signatures are not verified. */
final class Wire {
  private static final HttpClient HTTP = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private Wire() {}

  /** Sends an operation as an account and returns the body of the answer. Throws AssertionError if it is not 200. */
  static String ok(StatorAccount account, String operation, String body) throws Exception {
    HttpResponse<String> reply = call(account.endpoint(), account.accessKey(), operation, body);
    if (reply.statusCode() != 200) throw new AssertionError(operation + ": " + reply.statusCode() + " " + reply.body());
    return reply.body();
  }

  static HttpResponse<String> call(URI endpoint, String accessKey, String operation, String body) throws Exception {
    String credential = "Credential=" + accessKey + "/20261127/us-east-1/dynamodb/aws4_request";
    HttpRequest request = HttpRequest.newBuilder(endpoint.resolve("/")).header("X-Amz-Target", "DynamoDB_20120810." + operation)
        .header("Content-Type", "application/x-amz-json-1.0").header("X-Amz-Date", "20261127T120000Z")
        .header("Authorization", "AWS4-HMAC-SHA256 " + credential + ", SignedHeaders=host, Signature=" + "0".repeat(64))
        .POST(HttpRequest.BodyPublishers.ofString(body)).build();
    return HTTP.send(request, HttpResponse.BodyHandlers.ofString());
  }

  static void createTable(StatorAccount account, String name) throws Exception {
    ok(account, "CreateTable", "{\"TableName\": \"" + name + "\", \"BillingMode\": \"PAY_PER_REQUEST\","
        + "\"AttributeDefinitions\": [{\"AttributeName\": \"pk\", \"AttributeType\": \"S\"}],"
        + "\"KeySchema\": [{\"AttributeName\": \"pk\", \"KeyType\": \"HASH\"}]}");
  }

  static void put(StatorAccount account, String table, String key) throws Exception {
    ok(account, "PutItem", "{\"TableName\": \"" + table + "\", \"Item\": {\"pk\": {\"S\": \"" + key + "\"}}}");
  }

  /** Returns the number of items. */
  static int count(StatorAccount account, String table) throws Exception {
    String answer = ok(account, "Scan", "{\"TableName\": \"" + table + "\", \"Select\": \"COUNT\"}");
    return Integer.parseInt(answer.replaceAll(".*\"Count\":(\\d+).*", "$1"));
  }

  /** Returns the names of the tables as JSON, such as ["orders"]. */
  static String tables(StatorAccount account) throws Exception {
    return ok(account, "ListTables", "{}").replaceAll(".*\"TableNames\":(\\[[^\\]]*\\]).*", "$1");
  }
}
