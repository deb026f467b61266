#include "audit/record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "audit/redact.h"
#include "simdjson.h"

namespace stator::audit {
namespace {

const Origin kOrigin{"111122223333", "eu-central-1", "localhost:8000"};

class Parsed {
 public:
  explicit Parsed(const std::string& line) : text_(line) {
    EXPECT_EQ(parser_.parse(text_).get(root_), simdjson::SUCCESS) << line;
  }
  // Returns the text at a path such as "/userIdentity/type"; "-" if there is none.
  std::string At(const std::string& path) {
    simdjson::dom::element found;
    if (root_.at_pointer(path).get(found) != simdjson::SUCCESS) return "-";
    std::string_view text;
    return found.get(text) == simdjson::SUCCESS ? std::string(text) : simdjson::minify(found);
  }

 private:
  simdjson::padded_string text_;
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
};

std::shared_ptr<access::Caller> Alice() {
  auto caller = std::make_shared<access::Caller>();
  caller->kind = access::Principal::Kind::kUser;
  caller->account = "111122223333";
  caller->arn = "arn:aws:iam::111122223333:user/team/alice";
  caller->id = caller->user_id = "AIDAALICE";
  return caller;
}

Record Create() {
  Record record;
  record.at_micros = 1'770'000'000'123'000;
  record.source = kDynamoDb;
  record.name = "CreateTable";
  record.caller = Alice();
  record.key_id = "AKIAALICE";
  record.address = "192.0.2.7";
  record.user_agent = "aws-cli/2";
  record.parameters = R"({"tableName":"T"})";
  record.resources = {"arn:aws:dynamodb:eu-central-1:111122223333:table/T"};
  record.request_id = "REQUEST";
  return record;
}

TEST(AuditRecord, HasTheShapeOfCloudTrail) {
  Record record = Create();
  record.judgements.Add({"dynamodb:CreateTable", record.resources[0], true, false,
                         access::PolicyType::kIdentity, "own", "Make", 2});
  const std::string line = RenderLine(record, kOrigin, "EVENT");
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_EQ(line.back(), '\n');
  Parsed parsed(line);
  EXPECT_EQ(parsed.At("/eventVersion"), "1.11");
  EXPECT_EQ(parsed.At("/eventTime"), "2026-02-02T02:40:00.123Z");
  EXPECT_EQ(parsed.At("/userIdentity"),
            R"({"type":"IAMUser","principalId":"AIDAALICE",)"
            R"("arn":"arn:aws:iam::111122223333:user/team/alice","accountId":"111122223333",)"
            R"("accessKeyId":"AKIAALICE","userName":"alice"})");
  EXPECT_EQ(parsed.At("/eventSource"), "dynamodb.amazonaws.com");
  EXPECT_EQ(parsed.At("/eventName"), "CreateTable");
  EXPECT_EQ(parsed.At("/awsRegion"), "eu-central-1");
  EXPECT_EQ(parsed.At("/sourceIPAddress"), "192.0.2.7");
  EXPECT_EQ(parsed.At("/requestParameters"), R"({"tableName":"T"})");
  EXPECT_EQ(parsed.At("/responseElements"), "null");
  EXPECT_EQ(parsed.At("/additionalEventData/authorization/0"),
            R"({"action":"dynamodb:CreateTable",)"
            R"("resource":"arn:aws:dynamodb:eu-central-1:111122223333:table/T","effect":"Allow",)"
            R"("policyType":"identity-based policy","policy":"own","statement":3,"sid":"Make"})");
  EXPECT_EQ(parsed.At("/additionalEventData/server"), "localhost:8000");
  EXPECT_EQ(parsed.At("/additionalEventData/enforced"), "-");
  EXPECT_EQ(parsed.At("/requestID"), "REQUEST");
  EXPECT_EQ(parsed.At("/eventID"), "EVENT");
  EXPECT_EQ(parsed.At("/readOnly"), "false");
  EXPECT_EQ(parsed.At("/resources/0/type"), "AWS::DynamoDB::Table");
  EXPECT_EQ(parsed.At("/managementEvent"), "true");
  EXPECT_EQ(parsed.At("/eventCategory"), "Management");
  EXPECT_EQ(parsed.At("/errorCode"), "-");
}

TEST(AuditRecord, SessionsNameTheirRole) {
  Record record = Create();
  auto caller = std::make_shared<access::Caller>();
  caller->kind = access::Principal::Kind::kRoleSession;
  caller->account = "111122223333";
  caller->arn = "arn:aws:sts::111122223333:assumed-role/app/s1";
  caller->issuer_arn = "arn:aws:iam::111122223333:role/app";
  caller->id = "AROAAPP";
  caller->user_id = "AROAAPP:s1";
  caller->issued_micros = 1'770'000'000'000'000;
  record.caller = caller;
  record.data_event = true;
  Parsed parsed(RenderLine(record, kOrigin, "EVENT"));
  EXPECT_EQ(parsed.At("/userIdentity/type"), "AssumedRole");
  EXPECT_EQ(parsed.At("/userIdentity/principalId"), "AROAAPP:s1");
  EXPECT_EQ(parsed.At("/userIdentity/sessionContext/sessionIssuer/userName"), "app");
  EXPECT_EQ(parsed.At("/userIdentity/sessionContext/attributes/creationDate"),
            "2026-02-02T02:40:00.000Z");
  EXPECT_EQ(parsed.At("/eventCategory"), "Data");
}

// A line stays one line of JSON, of bounded length, whatever clients send.
TEST(AuditRecord, TextOfClientsCannotForgeLines) {
  Record record = Create();
  const std::string bad = "a\"\n{\"eventName\":\"x\"}\r\t\\\xff\xc3\x28\x7f\xe2\x80\xa8";
  record.name = record.key_id = record.user_agent = record.error_message = bad;
  record.resources = {bad};
  record.request_id = bad;
  record.judgements.Add({bad, bad, false, true, access::PolicyType::kBoundary, bad, bad, 0});
  const std::string line = RenderLine(record, kOrigin, "EVENT");
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_EQ(line.find("\xe2\x80\xa8"), std::string::npos);
  Parsed parsed(line);
  EXPECT_EQ(parsed.At("/eventName"), "a\"\\n{\"eventName\":\"x\"}\\r\\t\\\\xff\\xc3(\\x7f\\u2028");
}

TEST(AuditRecord, LongRecordsKeepWhatDecided) {
  Record record = Create();
  record.parameters = "{\"x\":\"" + std::string(kMaxParameterBytes, 'x') + "\"}";
  Parsed omitted(RenderLine(record, kOrigin, "EVENT"));
  EXPECT_EQ(omitted.At("/requestParameters/omitted"), "true");
  EXPECT_EQ(omitted.At("/resources/0/type"), "AWS::DynamoDB::Table");

  const std::string huge(5000, '"');
  record.name = record.key_id = record.user_agent = record.error_message = huge;
  for (size_t i = 0; i < 2 * guard::Judgements::kMost; ++i) {
    record.judgements.Add({"dynamodb:GetItem", std::to_string(i) + huge,
                           i + 1 < 2 * guard::Judgements::kMost, false,
                           access::PolicyType::kIdentity, huge, huge, 1});
    record.resources.push_back(std::to_string(i) + huge);
  }
  const std::string line = RenderLine(record, kOrigin, "EVENT");
  EXPECT_LE(line.size(), kMaxLineBytes);
  Parsed parsed(line);
  EXPECT_EQ(parsed.At("/additionalEventData/authorization/0/effect"), "Deny");
  EXPECT_EQ(parsed.At("/additionalEventData/authorizationsLeftOut"),
            std::to_string(2 * guard::Judgements::kMost - 1));
}

TEST(AuditRecord, ClaimedKeysAreShownOnlyIfTheyLookLikeKeys) {
  EXPECT_EQ(ShownKeyId("AKIAIOSFODNN7EXAMPLE"), "AKIAIOSFODNN7EXAMPLE");
  EXPECT_EQ(ShownKeyId(""), "");
  EXPECT_EQ(ShownKeyId("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
            "HIDDEN_DUE_TO_SECURITY_REASONS");
  EXPECT_EQ(ShownKeyId("correcthorsebatterystaple"), "HIDDEN_DUE_TO_SECURITY_REASONS");
}

TEST(AuditRedact, LiteralsGoAndNamesStay) {
  EXPECT_EQ(WithoutLiterals("SELECT a FROM \"T\".\"I\" WHERE pk = 'it''s'  AND n > -12.5e3"),
            "SELECT a FROM \"T\".\"I\" WHERE pk = *** AND n > -***");
  EXPECT_EQ(WithoutLiterals("INSERT INTO \"T\" VALUE {'pk': 'x', \"b\": 1, 'c': <<2, `3`>>}"),
            "INSERT INTO \"T\" VALUE {***: ***, ***: ***, ***: <<***, ***>>}");
  EXPECT_EQ(WithoutLiterals("SET #a = :v1, b = list_append(b, :w)"),
            "SET #a = :v1, b = list_append(b, :w)");
  EXPECT_EQ(WithoutLiterals("WHERE a = 'never closed"), "WHERE a = ***");
  EXPECT_EQ(WithoutLiterals("FROM \"never closed"), "FROM ***");
  EXPECT_EQ(WithoutLiterals("a = \"quoted\" -- note\nAND/* x */b"), "a = *** AND b");
  EXPECT_EQ(WithoutLiterals("'x'.\"secret\" \xc3\xa9"), "***.*** ??");
  EXPECT_EQ(WithoutLiterals(""), "");
}

}  // namespace
}  // namespace stator::audit
