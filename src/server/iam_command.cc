#include "server/iam_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

#include "access/sigv4.h"
#include "audit/trail.h"
#include "base/clock.h"
#include "base/executor.h"
#include "base/log.h"
#include "base/printable.h"
#include "iam/service.h"
#include "identity/identities.h"
#include "identity/root_key.h"
#include "kv/features.h"
#include "server/cluster_report.h"
#include "server/open_engine.h"
#include "server/option_checks.h"
#include "server/plain_client.h"
#include "server/resource_policy_keeper.h"
#include "server/why_control.h"
#include "table/store.h"

namespace stator::server {
namespace {

constexpr std::string_view kIdentityFeature = "identities";  // of kv/features.cc
constexpr int kUsage = 252;                                  // exit codes of the AWS CLI
constexpr int kRefused = 254;
constexpr int kTimeoutSeconds = 30;

int Complain(const Error& error, int code) {
  fmt::print(stderr, "{}\n", PrintableLines(error.message()));
  return code;
}

// A store that this process alone uses, or a pool beside its servers; ends in this order.
class LocalStore {
 public:
  static Result<std::unique_ptr<LocalStore>> Open(const IamCommand& command) {
    std::unique_ptr<LocalStore> local(new LocalStore);
    TRY(local->OpenEngineOf(command));
    ASSIGN_OR_RETURN(local->store_,
                     table::Store::Open(*local->engine_, local->clock_, local->workers_));
    ops::Settings shown;
    shown.account = command.store.account;
    shown.region = command.store.region;
    local->environment_.reset(
        new ops::Environment{*local->store_, local->clock_, local->ids_, local->workers_, shown});
    TRY(local->OpenIdentities(command));
    return local;
  }
  ~LocalStore() {
    if (trail_ != nullptr) trail_->Stop();
    workers_.Stop();
    if (store_ != nullptr) store_->Stop();
    // It finishes what is queued while the store is still there.
    engine_.reset();
  }

  iam::Service& service() { return *service_; }
  const identity::Identities& identities() const { return *identities_; }
  const guard::Gate& gate() const { return *gate_; }
  const ops::Environment& environment() const { return *environment_; }

 private:
  LocalStore() : ids_(SystemSeed()), workers_(2, 256) {}

  Status OpenEngineOf(const IamCommand& command) {
    const ServeSettings& settings = command.store;
    std::error_code ignored;
    if (settings.engine == EngineKind::kRocksDb &&
        !std::filesystem::exists(std::filesystem::path(settings.data_dir) / "CURRENT", ignored)) {
      return ValidationError(fmt::format(
          "There is no store in {}: name the directory with --data-dir, or a server with "
          "--endpoint-url",
          settings.data_dir));
    }
    ASSIGN_OR_RETURN(std::shared_ptr<const crypt::FileKeys> keys,
                     OpenFileKeys(settings.encryption));
    ASSIGN_OR_RETURN(engine_, OpenEngine(settings, std::move(keys)));
    // Refuse to store the first identities while a running server of this store is too old to know
    // them.
    if (auto* const keeper = engine_->feature_keeper();
        keeper != nullptr && !engine_->capabilities().exclusive) {
      keeper->SetFeatureCheck([this](std::string_view name) { return CheckServers(name); });
    }
    return OkStatus();
  }

  Status CheckServers(std::string_view feature) {
    ASSIGN_OR_RETURN(const fleet::Membership membership, WatchMembership(*engine_, clock_));
    for (const auto& [id, member] : membership.members) {
      if (!member.alive) continue;
      const Result<kv::Features> known = kv::SplitFeatures(member.beat.features);
      if (known.ok() && known->count(feature) > 0) continue;
      return Error(ErrorCode::kUnavailable,
                   fmt::format("The process at {} (version {}) serves this store and does not "
                               "know the feature {}. Upgrade it first.",
                               member.beat.endpoint, member.beat.version, feature));
    }
    return OkStatus();
  }

  Status OpenIdentities(const IamCommand& command) {
    const AccessSettings& access = command.store.access;
    identity::Identities::Options options;
    options.account = command.store.account;
    options.shared = !engine_->capabilities().exclusive;
    options.prepare = [this] { return kv::RequireFeature(*engine_, kIdentityFeature); };
    if (const std::optional<std::string> wrong = CheckMasterKey(access))
      return ValidationError(*wrong);
    ASSIGN_OR_RETURN(std::vector<std::string> keys, MasterKeysOf(access));
    if (!keys.empty()) {
      ASSIGN_OR_RETURN(access::Keyring keyring, access::Keyring::FromKeys(std::move(keys)));
      options.keyring = std::make_shared<access::Keyring>(std::move(keyring));
    }
    ASSIGN_OR_RETURN(identities_,
                     identity::Identities::Open(*engine_, clock_, random_, std::move(options)));
    resources_ = std::make_unique<ResourcePolicyKeeper>(*identities_, *store_);
    guard::Gate::Options gate{guard::Mode::kEnforce, command.store.account, command.store.region,
                              random_.Bytes(32)};
    gate.resources = resources_.get();
    gate_ = std::make_unique<guard::Gate>(clock_, *identities_, std::move(gate));
    if (!access.audit_file.empty()) {
      audit::Trail::Options log;
      log.path = access.audit_file;
      log.origin = {command.store.account, command.store.region, "stator iam"};
      ASSIGN_OR_RETURN(trail_, audit::Trail::Open(std::move(log), clock_));
    }
    service_ = std::make_unique<iam::Service>(*identities_, *gate_, *environment_, trail_.get());
    return OkStatus();
  }

  const SystemClock clock_;
  SeededRandom ids_;
  access::SystemSecureRandom random_;
  std::unique_ptr<kv::Engine> engine_;
  WorkerPool workers_;
  std::unique_ptr<table::Store> store_;
  std::unique_ptr<ops::Environment> environment_;
  std::unique_ptr<identity::Identities> identities_;
  std::unique_ptr<ResourcePolicyKeeper> resources_;
  std::unique_ptr<guard::Gate> gate_;
  std::unique_ptr<audit::Trail> trail_;
  std::unique_ptr<iam::Service> service_;
};

// The caller of the command: the right to write the store is the right to everything in it.
std::shared_ptr<const access::Caller> RootOf(const std::string& account) {
  auto root = std::make_shared<access::Caller>();
  root->kind = access::Principal::Kind::kRoot;
  root->account = root->id = root->user_id = account;
  root->arn = access::RootArn(account);
  return root;
}

struct Endpoint {
  std::string host;
  uint16_t port = 0;
};
Result<Endpoint> EndpointOf(std::string url) {
  constexpr std::string_view kHttp = "http://";
  if (!url.starts_with(kHttp))
    return ValidationError(fmt::format("\"{}\" is not like http://localhost:8000", url));
  url.erase(0, kHttp.size());
  while (!url.empty() && url.back() == '/') url.pop_back();
  const size_t colon = url.rfind(':');
  const bool has_port = colon != std::string::npos && url.find(']', colon) == std::string::npos;
  const int port = has_port ? std::atoi(url.c_str() + colon + 1) : 80;
  std::string host = url.substr(0, has_port ? colon : url.size());
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty() || port < 1 || port > 65535)
    return ValidationError(fmt::format("\"{}\" is not like http://localhost:8000", url));
  return Endpoint{host, static_cast<uint16_t>(port)};
}

// The key of the environment, as SDKs read it, else the one of the root key file.
Result<access::SigningKey> KeyOfCaller(const IamCommand& command) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  access::SigningKey key{variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"),
                         variable("AWS_SESSION_TOKEN")};
  if (!key.key_id.empty()) return key;
  const std::string& file = command.store.access.root_key_file;
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    return ValidationError(fmt::format(
        "a server is asked with a key: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name "
        "the file of the root key with --root-key-file ({} does not exist)",
        file));
  }
  access::SystemSecureRandom random;
  ASSIGN_OR_RETURN(const identity::RootKey root, identity::ReadOrMakeRootKey(file, &random));
  return access::SigningKey{root.pair.id, root.pair.secret, ""};
}

// Returns the error in a reply other than 200: in words, if it is one of IAM.
Error Refused(const PlainReply& reply) {
  const auto element = [&reply](std::string_view name) -> std::string {
    const size_t begin = reply.body.find(fmt::format("<{}>", name));
    const size_t end = reply.body.find(fmt::format("</{}>", name));
    if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
    return reply.body.substr(begin + name.size() + 2, end - begin - name.size() - 2);
  };
  const std::string code = element("Code");
  return Error(ErrorCode::kUnavailable,
               code.empty() ? fmt::format("the server answered {}: {}", reply.status, reply.body)
                            : fmt::format("An error occurred ({}): {}", code, element("Message")));
}

// Sends the server a signed request.
Result<PlainReply> AskServer(const IamCommand& command, std::string_view target,
                             std::string_view service, std::string_view content_type,
                             const std::string& body) {
  ASSIGN_OR_RETURN(const Endpoint endpoint, EndpointOf(command.endpoint_url));
  ASSIGN_OR_RETURN(const access::SigningKey key, KeyOfCaller(command));
  const std::string host =
      endpoint.host.find(':') == std::string::npos ? endpoint.host : "[" + endpoint.host + "]";
  std::vector<access::OwnedHeader> headers = {{"Host", fmt::format("{}:{}", host, endpoint.port)},
                                              {"Content-Type", std::string(content_type)},
                                              {"X-Stator-Management", "true"},
                                              {"Content-Length", std::to_string(body.size())},
                                              {"Connection", "close"}};
  access::SigningOptions options;
  options.region = command.store.region;
  options.service = service;
  options.now_micros = SystemClock().NowMicros();
  access::SignRequest(key, options, "POST", target, body, &headers);
  std::string request = fmt::format("POST {} HTTP/1.1\r\n", target);
  for (const access::OwnedHeader& header : headers)
    request += fmt::format("{}: {}\r\n", header.name, header.value);
  request += "\r\n" + body;
  return AskPlain(endpoint.host, endpoint.port, request, kTimeoutSeconds);
}

int ExecuteCall(const IamCommand& command) {
  const Result<std::string> form = FormOfWords(command.words);
  if (!form.ok()) return Complain(form.error(), kUsage);
  if (command.words.front() == "account" && !command.endpoint_url.empty()) {
    const Result<PlainReply> reply =
        AskServer(command, "/", "iam", "application/x-www-form-urlencoded", *form);
    if (!reply.ok()) return Complain(reply.error(), kRefused);
    if (reply->status != 200) return Complain(Refused(*reply), kRefused);
    if (const std::string json = JsonOfReply(reply->body); !json.empty()) fmt::print("{}\n", json);
    return 0;
  }
  Result<std::unique_ptr<LocalStore>> local = LocalStore::Open(command);
  if (!local.ok()) return Complain(local.error(), 1);
  iam::Service& service = (*local)->service();
  Result<iam::Prepared> call = service.PrepareLocal(*form, RootOf(command.store.account));
  if (!call.ok()) return Complain(call.error(), kUsage);
  const std::string action = call->action;
  const access::HttpRequestView none{"POST", "/", {}, *form};
  const iam::Reply reply = service.Run(*std::move(call), none, nullptr);
  if (!reply.error.empty()) {
    return Complain(
        ValidationError(fmt::format("An error occurred ({}) when calling the {} operation: {}",
                                    reply.error, action, reply.message)),
        kRefused);
  }
  if (const std::string json = JsonOfReply(reply.body); !json.empty()) fmt::print("{}\n", json);
  return 0;
}

int ExecuteWhy(const IamCommand& command) {
  const Result<guard::Question> question = QuestionOfWords(command.words);
  if (!question.ok()) return Complain(question.error(), kUsage);
  if (!command.endpoint_url.empty()) {
    const Result<PlainReply> answer = AskServer(command, "/_stator/access/why", "stator",
                                                "application/json", WriteQuestion(*question));
    if (!answer.ok()) return Complain(answer.error(), kRefused);
    if (answer->status != 200) return Complain(Refused(*answer), kRefused);
    fmt::print("{}\n", PrintableLines(answer->body));
    return answer->body.find("\"allowed\":true") == std::string::npos ? 1 : 0;
  }
  Result<std::unique_ptr<LocalStore>> local = LocalStore::Open(command);
  if (!local.ok()) return Complain(local.error(), 1);
  const LocalStore& store = **local;
  const auto directory = store.identities().DirectoryOf(store.identities().account());
  const Result<guard::Answer> answer = guard::AnswerWhy(
      *question, *directory, store.gate().resources(), command.store.region, store.environment());
  if (!answer.ok()) return Complain(answer.error(), kRefused);
  fmt::print("{}\n", guard::RenderJson(*answer));
  fmt::print(stderr, "{}", PrintableLines(guard::RenderText(*answer)));
  return answer->judgement.allowed ? 0 : 1;
}

}  // namespace

void AddIamOptions(CLI::App* app, IamCommand* command, std::string* call) {
  ServeSettings* const s = &command->store;
  app->add_option("call", *call, "create-user, put-user-policy and so on, account create, or why")
      ->required();
  app->add_option("--data-dir", s->data_dir, "directory of the store")
      ->envname("STATOR_DATA_DIR")
      ->capture_default_str();
  app->add_option("--ceph-conf", s->ceph_conf, "of a pool: the cluster's ceph.conf")
      ->envname("STATOR_CEPH_CONF");
  app->add_option("--pool", s->pool, "the pool with the store")->envname("STATOR_POOL");
  app->add_option("--ceph-user", s->ceph_user, "user of the cluster, without \"client.\"")
      ->envname("STATOR_CEPH_USER")
      ->capture_default_str();
  app->add_option("--ceph-namespace", s->ceph_namespace, "namespace of the pool")
      ->envname("STATOR_CEPH_NAMESPACE");
  AddEncryptionOptions(app, &s->encryption);
  app->add_option("--master-key-file", s->access.master_key_file,
                  "the key that seals the secrets of the store's users")
      ->envname("STATOR_MASTER_KEY_FILE");
  app->add_option("--master-key-command", s->access.master_key_command,
                  "likewise, the key that this command prints")
      ->envname("STATOR_MASTER_KEY_COMMAND");
  app->add_option("--audit-log", s->access.audit_file, "record the call in this file")
      ->envname("STATOR_AUDIT_LOG");
  app->add_option("--account", s->account, "account id in ARNs")
      ->check(Characters("0123456789", 12, 12, "an account id of 12 digits"))
      ->envname("STATOR_ACCOUNT")
      ->capture_default_str();
  app->add_option("--region", s->region, "region in ARNs")
      ->envname("STATOR_REGION")
      ->capture_default_str();
  app->add_option(
         "--endpoint-url", command->endpoint_url,
         "of why and account: the server to ask, with the key of AWS_ACCESS_KEY_ID or of the file")
      ->envname("AWS_ENDPOINT_URL");
  app->add_option("--root-key-file", s->access.root_key_file, "the root user's access key")
      ->envname("STATOR_ROOT_KEY_FILE")
      ->capture_default_str();
  app->allow_extras();
}

std::optional<std::string> SettleIam(const CLI::App& iam, const std::string& call,
                                     IamCommand* command) {
  command->words = {call};
  for (const std::string& word : iam.remaining()) command->words.push_back(word);
  const auto given = [&iam](const char* option) { return iam.count(option) > 0; };
  const bool asked = given("--endpoint-url") && std::getenv("AWS_ENDPOINT_URL") == nullptr;
  if (call != "why" && call != "account" && asked)
    return "--endpoint-url is for why and account: use `aws iam` for calls of a server";
  // A store that is named is meant, rather than the server of the environment.
  if (!asked && (given("--data-dir") || given("--pool"))) command->endpoint_url.clear();
  if (std::optional<std::string> wrong = CheckEncryption(command->store.encryption)) return wrong;
  if (!given("--pool")) return std::nullopt;
  if (given("--data-dir")) return "--data-dir contradicts --pool";
  if (!given("--ceph-conf")) return "--pool needs --ceph-conf";
  command->store.engine = EngineKind::kRados;
  return std::nullopt;
}

int Execute(const IamCommand& command) {
  SetLogLevel(LogLevel::kWarn);
  return command.words.front() == "why" ? ExecuteWhy(command) : ExecuteCall(command);
}

}  // namespace stator::server
