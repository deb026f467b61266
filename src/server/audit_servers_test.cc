// The audit logs of several processes of one store.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "access/sigv4.h"
#include "server/test_instances.h"

namespace stator::server::test {
namespace {

const access::SigningKey kRoot{"AKIAROOTROOTROOTROOT", "root-secret", ""};

class AuditServersTest : public InstancesTest {
 protected:
  void SetUp() override {
    char name[] = "/tmp/stator-audit-XXXXXX";
    directory_ = mkdtemp(name);
    std::ofstream(directory_ / "master-key") << std::string(64, 'a') << "\n";
  }
  void TearDown() override {
    instances_.clear();
    std::filesystem::remove_all(directory_);
  }

  Result<std::unique_ptr<Instance>> Open(const std::string& audit_file) {
    ServeSettings settings;
    settings.engine = EngineKind::kRados;  // shows only
    settings.presence.forward_writes = false;
    settings.throttling.all = throughput::Throttling::kOff;
    settings.access.mode = AuthMode::kEnforce;
    settings.access.root = identity::KeyPair{kRoot.key_id, kRoot.secret};
    settings.access.master_key_file = directory_ / "master-key";
    settings.access.audit_file = directory_ / audit_file;
    Instance::Options options;
    options.port = static_cast<uint16_t>(8201 + instances_.size());
    options.sockets = [] { return http::ServerState(); };
    return Instance::Open(
        settings,
        std::make_unique<kv_tx::TransactionEngine>(memory_.Attach(), kv_tx::Options{.threads = 2}),
        std::move(options));
  }
  Instance& AddAudited() {
    instances_.push_back(Open("audit" + std::to_string(instances_.size())).value());
    EXPECT_TRUE(instances_.back()->Start().ok());
    return *instances_.back();
  }

  http::Reply AskSigned(Instance& instance, const access::SigningKey& key, std::string_view service,
                        std::string_view type, const std::string& operation, std::string body) {
    std::vector<access::OwnedHeader> headers = {{"Host", "localhost:8000"},
                                                {"Content-Type", std::string(type)}};
    if (!operation.empty()) headers.push_back({"X-Amz-Target", operation});
    access::SigningOptions options;
    options.region = "us-east-1";
    options.service = service;
    options.now_micros = SystemClock().NowMicros();
    access::SignRequest(key, options, "POST", "/", body, &headers);
    http::Request request;
    request.method = "POST";
    request.target = "/";
    for (const access::OwnedHeader& header : headers)
      request.headers.push_back({header.name, header.value});
    const size_t size = body.size();
    body.append(http::kBodyPadding, ' ');
    request.body = std::string_view(body).substr(0, size);
    std::optional<http::Reply> reply;
    instance.HandlerOf(loop_)(std::make_unique<TestExchange>(loop_, std::move(request), &reply));
    loop_.RunUntil([&] { return reply.has_value(); });
    return *std::move(reply);
  }
  http::Reply Create(Instance& instance, const std::string& table) {
    return AskSigned(instance, kRoot, "dynamodb", "application/x-amz-json-1.0",
                     "DynamoDB_20120810.CreateTable",
                     R"({"TableName":")" + table +
                         R"(","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"BillingMode":)"
                         R"("PAY_PER_REQUEST","AttributeDefinitions":)"
                         R"([{"AttributeName":"pk","AttributeType":"S"}]})");
  }
  http::Reply Iam(Instance& instance, const std::string& form) {
    return AskSigned(instance, kRoot, "iam", "application/x-www-form-urlencoded", "",
                     "Version=2010-05-08&" + form);
  }
  // The lines of a process's file that have `part`.
  std::vector<std::string> LinesWith(size_t process, const std::string& part) {
    std::ifstream file(directory_ / ("audit" + std::to_string(process)));
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
      if (line.find(part) != std::string::npos) lines.push_back(line);
    }
    return lines;
  }
  static std::string Between(const std::string& text, const std::string& begin,
                             const std::string& end) {
    const size_t at = text.find(begin) + begin.size();
    return text.substr(at, text.find(end, at) - at);
  }

  std::filesystem::path directory_;
};

TEST_F(AuditServersTest, EachRequestIsInTheFileOfItsServer) {
  for (int i = 0; i < 3; ++i) AddAudited();
  for (size_t i = 0; i < 3; ++i) {
    const std::string table = "table" + std::to_string(i);
    const http::Reply reply = Create(*instances_[i], table);
    ASSERT_EQ(reply.status, 200) << reply.body;
    for (size_t j = 0; j < 3; ++j) {
      // On the disk when it is answered.
      const std::vector<std::string> lines = LinesWith(j, "\"tableName\":\"" + table + "\"");
      ASSERT_EQ(lines.size(), i == j ? 1u : 0u) << i << " " << j;
      if (i != j) continue;
      EXPECT_NE(lines[0].find("\"server\":\"localhost:" + std::to_string(8201 + i) + "\""),
                std::string::npos)
          << lines[0];
    }
  }
}

TEST_F(AuditServersTest, AUserOfOneServerIsKnownToTheLogOfAnother) {
  for (int i = 0; i < 3; ++i) AddAudited();
  ASSERT_EQ(Create(*instances_[0], "notes").status, 200);
  ASSERT_EQ(Iam(*instances_[0], "Action=CreateUser&UserName=acme").status, 200);
  ASSERT_EQ(Iam(*instances_[1],
                "Action=PutUserPolicy&UserName=acme&PolicyName=own&PolicyDocument="
                "%7B%22Version%22%3A%222012-10-17%22%2C%22Statement%22%3A%7B%22Sid%22%3A%22Look%22"
                "%2C%22Effect%22%3A%22Allow%22%2C%22Action%22%3A%22dynamodb%3ADescribeTable%22%2C"
                "%22Resource%22%3A%22%2A%22%7D%7D")
                .status,
            200);
  const http::Reply made = Iam(*instances_[0], "Action=CreateAccessKey&UserName=acme");
  ASSERT_EQ(made.status, 200) << made.body;
  const access::SigningKey acme{Between(made.body, "<AccessKeyId>", "<"),
                                Between(made.body, "<SecretAccessKey>", "<"), ""};
  EXPECT_EQ(LinesWith(0, acme.key_id).size(), 1u);
  const http::Reply described =
      AskSigned(*instances_[2], acme, "dynamodb", "application/x-amz-json-1.0",
                "DynamoDB_20120810.DescribeTable", R"({"TableName":"notes"})");
  ASSERT_EQ(described.status, 200) << described.body;
  Await([&] { return !LinesWith(2, "\"sid\":\"Look\"").empty(); });
  EXPECT_EQ(LinesWith(2, "\"userName\":\"acme\"").size(), 1u);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(LinesWith(i, acme.secret).empty());
}

TEST_F(AuditServersTest, AFileIsOfOneServer) {
  AddAudited();
  const auto second = Open("audit0");
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message().find("is being written by another process"),
            std::string::npos);
}

}  // namespace
}  // namespace stator::server::test
