#include "server/command_line.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kv_rados/rados_engine.h"

namespace stator::server {
namespace {

using Arguments = std::vector<std::string>;

// In a directory of its own, without settings of the environment.
class SettingsTest : public testing::Test {
 protected:
  void SetUp() override {
    before_ = std::filesystem::current_path();
    char name[] = "/tmp/stator-settings-XXXXXX";
    directory_ = mkdtemp(name);
    std::filesystem::current_path(directory_);
  }
  void TearDown() override {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(directory_);
    for (const std::string& name : set_) unsetenv(name.c_str());
  }
  void SetEnvironment(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }
  static void WriteToml(const std::string& text) { std::ofstream("stator.toml") << text; }

  // Parses, keeping what is printed to itself.
  CommandLine Parse(const Arguments& arguments) {
    std::vector<const char*> argv = {"stator"};
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const CommandLine line = ParseCommandLine(static_cast<int>(argv.size()), argv.data());
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return line;
  }
  ServeSettings Serve(const Arguments& arguments) {
    const CommandLine line = Parse(arguments);
    EXPECT_EQ(line.action, CommandLine::Action::kServe) << out_ << err_;
    return line.serve;
  }
  void ExpectExit(const Arguments& arguments, bool success, const std::string& text) {
    const CommandLine line = Parse(arguments);
    EXPECT_EQ(line.action, CommandLine::Action::kExit);
    EXPECT_EQ(line.exit_code == 0, success) << line.exit_code;
    EXPECT_NE((success ? out_ : err_).find(text), std::string::npos) << out_ << err_;
  }

  std::string out_, err_;

 private:
  std::filesystem::path before_, directory_;
  std::vector<std::string> set_;
};

TEST_F(SettingsTest, Defaults) {
  const ServeSettings s = Serve({});
  EXPECT_EQ(s.port, 8000);
  EXPECT_TRUE(s.hosts.empty());
  EXPECT_EQ(s.data_dir, "./stator-data");
  EXPECT_EQ(s.engine, EngineKind::kRocksDb);
  EXPECT_EQ(s.worker_threads, 5);
  EXPECT_EQ(s.durability, Durability::kFsync);
  EXPECT_EQ(s.cors, Arguments{"local"});
  EXPECT_TRUE(s.allowed_hosts.empty());
  EXPECT_TRUE(s.require_auth);
  EXPECT_FALSE(s.delay_transient_statuses);
  EXPECT_FALSE(s.strict);
}

TEST_F(SettingsTest, StrictIsAFlagAndAVariable) {
  EXPECT_TRUE(Serve({"serve", "--strict"}).strict);
  WriteToml("[serve]\nstrict = true\n");
  EXPECT_TRUE(Serve({}).strict);
}

TEST_F(SettingsTest, AutoScalingStandsInTheFile) {
  WriteToml(R"([[auto-scaling]]
table = "music"
access = "read"
min = 5
max = 400
target = 0.6
raise_cooldown = "5m"

[[auto-scaling]]
table = "*"
index = "by-year"
access = "write"
lower_when_idle = true

[serve]
port = 1111
)");
  const ServeSettings s = Serve({"serve"});
  EXPECT_EQ(s.port, 1111);
  const ops::AutoScaler::Defaults wanted = {
      {{"music", ""},
       {.read =
            throughput::AutoScalingSettings{
                .min_units = 5, .max_units = 400, .target = 0.6, .raise_cooldown_seconds = 300}}},
      {{"*", "by-year"}, {.write = throughput::AutoScalingSettings{.lower_when_idle = true}}}};
  EXPECT_EQ(s.auto_scaling, wanted);
  const std::string music = "[[auto-scaling]]\ntable = \"music\"\n";
  WriteToml(music);
  ExpectExit({"serve"}, false, "stator.toml:1: [[auto-scaling]]: each needs access, read or write");
  WriteToml(music + "access = \"read\"\nmax = 0\n");
  ExpectExit({"serve"}, false, "max must be a whole number of units, not 0");
  WriteToml(music + "access = \"read\"\n" + music + "access = \"read\"\n");
  ExpectExit({"serve"}, false, "two of them have the same table, index and access");
  WriteToml("[[auto-scaling]]\naccess = \"read\"\n");
  ExpectExit({"serve"}, false, "each needs table");
}

TEST_F(SettingsTest, CommandLine) {
  const ServeSettings s = Serve({"serve",
                                 "--port",
                                 "0",
                                 "--host",
                                 "0.0.0.0",
                                 "--host",
                                 "::",
                                 "--data-dir=/x",
                                 "--durability",
                                 "os",
                                 "--cors",
                                 "https://a.example,https://b.example",
                                 "--account",
                                 "123456789012",
                                 "--require-auth",
                                 "false",
                                 "--log-level",
                                 "debug",
                                 "--seed",
                                 "42"});
  EXPECT_EQ(s.port, 0);
  EXPECT_EQ(s.hosts, (Arguments{"0.0.0.0", "::"}));
  EXPECT_EQ(s.data_dir, "/x");
  EXPECT_EQ(s.durability, Durability::kOs);
  EXPECT_EQ(s.cors, (Arguments{"https://a.example", "https://b.example"}));
  EXPECT_EQ(s.account, "123456789012");
  EXPECT_FALSE(s.require_auth);
  EXPECT_EQ(s.log_level, "debug");
  EXPECT_EQ(s.seed, 42u);
}

TEST_F(SettingsTest, CommandLineBeforeEnvironmentBeforeFile) {
  WriteToml(
      "[serve]\nport = 1111\nregion = \"from-file-1\"\naccount = \"111111111111\"\nin-memory = "
      "true\ncors = [\"https://f.example\"]\n");
  SetEnvironment("STATOR_PORT", "2222");
  SetEnvironment("STATOR_REGION", "from-environment-1");
  ServeSettings s = Serve({"serve", "--port", "3333"});
  EXPECT_EQ(s.port, 3333);
  EXPECT_EQ(s.region, "from-environment-1");
  EXPECT_EQ(s.account, "111111111111");
  EXPECT_EQ(s.engine, EngineKind::kMemory);
  EXPECT_EQ(s.cors, Arguments{"https://f.example"});
  s = Serve({"serve"});
  EXPECT_EQ(s.port, 2222);
  SetEnvironment("STATOR_PORT", "");
  EXPECT_EQ(Serve({"serve"}).port, 1111) << "an empty variable sets nothing";
}

TEST_F(SettingsTest, AFileByName) {
  std::ofstream("other.toml") << "[serve]\nport = 4444\n";
  EXPECT_EQ(Serve({"serve", "--config", "other.toml"}).port, 4444);
  EXPECT_EQ(Serve({"--config", "other.toml", "serve"}).port, 4444);
  ExpectExit({"serve", "--config", "missing.toml"}, false, "missing.toml");
}

TEST_F(SettingsTest, TheFileIsToml) {
  WriteToml(R"(# of a test
serve = { in-memory = true, port = 18_110, cors = [
  "http://localhost:3000",  # comments
  "https://a.example",
], data-dir = "a\u0062c", clock = "manual", clock-start = 2026-11-21T12:00:00Z }
[[faults]]
table = "music"
fault = "error"
operations = [
  "PutItem",
]
)");
  const ServeSettings s = Serve({"serve"});
  EXPECT_EQ(s.engine, EngineKind::kMemory);
  EXPECT_EQ(s.port, 18110);
  EXPECT_EQ(s.cors, (Arguments{"http://localhost:3000", "https://a.example"}));
  EXPECT_EQ(s.data_dir, "abc");
  EXPECT_EQ(s.clock_start_micros, 1795262400'000'000);
  ASSERT_EQ(s.faults.size(), 1u);
}

TEST_F(SettingsTest, WhatIsWrongInTheFileIsToldWithItsPlace) {
  const auto refused = [this](const std::string& text, const std::string& why) {
    WriteToml(text);
    ExpectExit({"serve"}, false, why);
  };
  refused("[serve]\nport = 1\nbogus = 1\n", "stator.toml:3: serve.bogus: there is no such setting");
  refused("\n[bogus]\n", "stator.toml:2: bogus: there is no such section");
  refused(
      "port = 1\n",
      "stator.toml:1: port: there is no such section; the options of serve stand under [serve]");
  refused("[serve\n", "stator.toml:1: ");
  refused("[serve]\nport = { a = 1 }\n",
          "stator.toml:2: serve.port: must be a value, or an array of values");
  refused("serve = 1\n", "stator.toml:1: serve: must be a section");
  refused("[faults]\ntable = \"a\"\n", "stator.toml:1: faults: must be written [[faults]]");
  refused("[serve]\nin-memory = \"perhaps\"\n", "perhaps");
  refused("[serve]\nseed = -5\n", "-5 is not a whole number from 0 to 18446744073709551615");
}

TEST_F(SettingsTest, TheFileIsOnlyForServe) {
  WriteToml("[bogus]\n");
  std::ofstream("scenario.toml") << "";
  EXPECT_EQ(Parse({"simulate", "scenario.toml"}).action, CommandLine::Action::kSimulate) << err_;
  ExpectExit({"--version"}, true, "stator ");
  ExpectExit({}, false, "bogus");
}

TEST_F(SettingsTest, WrongWordsAndNumbers) {
  ExpectExit({"bogus"}, false, "there is no command \"bogus\"");
  ExpectExit({"--help"}, true, "Without a subcommand it serves");
  ExpectExit({"--in-memory=perhaps"}, false, "perhaps");
  ExpectExit({"--port=70000"}, false, "70000 is not a whole number from 0 to 65535");
  ExpectExit({"--port=-1"}, false, "-1 is not a whole number");
  ExpectExit({"--seed=99999999999999999999"}, false, "is not a whole number");
  ExpectExit({"--account=abc"}, false, "\"abc\" is not an account id of 12 digits");
  ExpectExit({"--region=a/b"}, false, "\"a/b\" is not a region like us-east-1");
  ExpectExit({"--host", ""}, false, "an address is empty");
  SetEnvironment("STATOR_IN_MEMORY", "perhaps");
  ExpectExit({"serve"}, false, "perhaps");
}

TEST_F(SettingsTest, SeveralAddressesOfTheEnvironment) {
  SetEnvironment("STATOR_HOST", "127.0.0.1,::1");
  EXPECT_EQ(Serve({"serve"}).hosts, (Arguments{"127.0.0.1", "::1"}));
}

TEST_F(SettingsTest, TheEnvironmentSetsEveryKind) {
  SetEnvironment("STATOR_IN_MEMORY", "true");
  SetEnvironment("STATOR_DURABILITY", "os");
  SetEnvironment("STATOR_CORS", "none");
  SetEnvironment("STATOR_REQUIRE_AUTH", "false");
  const ServeSettings s = Serve({"serve"});
  EXPECT_EQ(s.engine, EngineKind::kMemory);
  EXPECT_EQ(s.durability, Durability::kOs);
  EXPECT_TRUE(s.cors.empty());
  EXPECT_FALSE(s.require_auth);
}

TEST_F(SettingsTest, EnginesAndWhatBelongsToThem) {
  EXPECT_EQ(Serve({"--engine=memory"}).engine, EngineKind::kMemory);
  EXPECT_EQ(Serve({"--engine=memory", "--in-memory"}).engine, EngineKind::kMemory);
  EXPECT_EQ(Serve({"--in-memory", "--data-dir=/x"}).engine, EngineKind::kMemory);
  ServeSettings s = Serve({"--engine=rados", "--ceph-conf=/c", "--pool", "p"});
  EXPECT_EQ(s.engine, EngineKind::kRados);
  EXPECT_EQ(s.ceph_conf, "/c");
  EXPECT_EQ(s.pool, "p");
  EXPECT_EQ(s.ceph_user, "admin");
  EXPECT_EQ(s.ceph_namespace, "");
  EXPECT_EQ(s.worker_threads, 64);
  EXPECT_EQ(s.ceph_split_bytes, kv_rados::RadosOptions().split_bytes);
  EXPECT_EQ(s.ceph_split_keys, kv_rados::RadosOptions().split_keys);
  EXPECT_EQ(s.eventual_staleness_micros, kv_rados::RadosOptions().recent_micros);
  EXPECT_EQ(
      Serve({"--engine=rados", "--ceph-conf=/c", "--pool=p", "--worker-threads=8"}).worker_threads,
      8);
  SetEnvironment("STATOR_ENGINE", "rados");
  SetEnvironment("STATOR_CEPH_CONF", "/e");
  WriteToml(
      "[serve]\npool = \"f\"\nceph-user = \"u\"\nceph-namespace = \"n\"\nceph-split-bytes = "
      "65536\nceph-split-keys = 100\neventual-staleness = \"2s\"\n");
  s = Serve({"serve"});
  EXPECT_EQ(s.engine, EngineKind::kRados);
  EXPECT_EQ(s.ceph_conf, "/e");
  EXPECT_EQ(s.pool, "f");
  EXPECT_EQ(s.ceph_user, "u");
  EXPECT_EQ(s.ceph_namespace, "n");
  EXPECT_EQ(s.ceph_split_bytes, 65536u);
  EXPECT_EQ(s.ceph_split_keys, 100u);
  EXPECT_EQ(s.eventual_staleness_micros, 2'000'000);
}

TEST_F(SettingsTest, SettingsOfAnotherEngineAreRefused) {
  ExpectExit({"--engine=tape"}, false, "--engine: tape is not one of rocksdb|memory|rados");
  ExpectExit({"--engine=1"}, false, "--engine: 1 is not one of rocksdb|memory|rados");
  ExpectExit({"--in-memory", "--engine=rocksdb"}, false,
             "--in-memory contradicts --engine=rocksdb");
  ExpectExit({"--engine=rados"}, false, "--engine=rados needs --ceph-conf");
  ExpectExit({"--engine=rados", "--ceph-conf=/c"}, false, "--engine=rados needs --pool");
  ExpectExit({"--engine=rados", "--ceph-conf=/c", "--pool=p", "--in-memory"}, false,
             "--in-memory contradicts --engine=rados");
  ExpectExit({"--engine=rados", "--ceph-conf=/c", "--pool=p", "--data-dir=/x"}, false,
             "--data-dir is not for --engine=rados");
  ExpectExit({"--engine=rados", "--ceph-conf=/c", "--pool=p", "--durability=os"}, false,
             "--durability is not for --engine=rados");
  ExpectExit({"--pool=p"}, false, "--pool is for --engine=rados, not rocksdb");
  ExpectExit({"--in-memory", "--ceph-conf=/c"}, false,
             "--ceph-conf is for --engine=rados, not memory");
  ExpectExit({"--ceph-split-keys=100"}, false,
             "--ceph-split-keys is for --engine=rados, not rocksdb");
  ExpectExit({"--eventual-staleness=0s"}, false,
             "--eventual-staleness is for --engine=rados, not rocksdb");
  ExpectExit({"--engine=rados", "--ceph-conf=/c", "--pool=p", "--eventual-staleness=11s"}, false,
             "not a duration of at most 10s: 11s");
  ExpectExit({"--engine=rados", "--ceph-conf=/c", "--pool=p", "--ceph-split-keys=3"}, false,
             "--ceph-split-keys");
  ExpectExit({"--engine=rados", "--ceph-conf=/c", "--pool=p", "--ceph-split-bytes=100000000"},
             false, "--ceph-split-bytes");
}

TEST_F(SettingsTest, ClusterStatus) {
  CommandLine line = Parse({"cluster", "status", "--ceph-conf=/c", "--pool=p"});
  EXPECT_EQ(line.action, CommandLine::Action::kCluster);
  EXPECT_EQ(line.cluster.ceph_conf, "/c");
  EXPECT_EQ(line.cluster.pool, "p");
  EXPECT_EQ(line.cluster.ceph_user, "admin");
  EXPECT_EQ(line.cluster.kind, ClusterCommand::Kind::kStatus);
  EXPECT_FALSE(line.cluster.json);
  ExpectExit({"cluster"}, false, "subcommand");
  ExpectExit({"cluster", "status", "--ceph-conf=/c"}, false, "--pool");
  SetEnvironment("STATOR_CEPH_CONF", "/e");
  for (const char* command : {"status", "drain"}) {
    Arguments words = {"cluster", command, "--ceph-conf=/c", "--pool=p"};
    if (words[1] == "drain") words.push_back("a");
    EXPECT_EQ(Parse(words).cluster.ceph_conf, "/c") << "what is given beats the environment";
  }
  line = Parse({"cluster", "status", "--pool=p", "--ceph-user=u", "--ceph-namespace=n", "--json"});
  EXPECT_EQ(line.cluster.ceph_conf, "/e");
  EXPECT_EQ(line.cluster.ceph_user, "u");
  EXPECT_EQ(line.cluster.ceph_namespace, "n");
  EXPECT_TRUE(line.cluster.json);
}

TEST_F(SettingsTest, ClusterDrain) {
  CommandLine line = Parse({"cluster", "drain", "10.0.0.2", "--ceph-conf=/c", "--pool=p"});
  EXPECT_EQ(line.action, CommandLine::Action::kCluster);
  EXPECT_EQ(line.cluster.kind, ClusterCommand::Kind::kDrain);
  EXPECT_EQ(line.cluster.server, "10.0.0.2");
  EXPECT_FALSE(line.cluster.undo || line.cluster.last);
  line = Parse({"cluster", "drain", "a", "--undo", "--last", "--timeout=5", "--ceph-conf=/c",
                "--pool=p", "--ceph-namespace=n"});
  EXPECT_TRUE(line.cluster.undo && line.cluster.last);
  EXPECT_EQ(line.cluster.timeout_seconds, 5);
  EXPECT_EQ(line.cluster.ceph_namespace, "n");
  ExpectExit({"cluster", "drain", "--ceph-conf=/c", "--pool=p"}, false, "SERVER");
  ExpectExit({"cluster", "drain", "a", "--pool=p"}, false, "--ceph-conf");
}

TEST_F(SettingsTest, HealthCheck) {
  CommandLine line = Parse({"healthcheck"});
  EXPECT_EQ(line.action, CommandLine::Action::kHealthCheck);
  EXPECT_EQ(line.health.host, "127.0.0.1");
  EXPECT_EQ(line.health.port, 8000);
  EXPECT_EQ(line.health.timeout_seconds, 2);
  SetEnvironment("STATOR_PORT", "9000");
  line = Parse({"healthcheck", "--host", "db", "--timeout", "5"});
  EXPECT_EQ(line.health.host, "db");
  EXPECT_EQ(line.health.port, 9000);
  EXPECT_EQ(line.health.timeout_seconds, 5);
  ExpectExit({"healthcheck", "--timeout", "0"}, false, "--timeout");
  ExpectExit({"healthcheck", "--port", "70000"}, false, "70000");
}

TEST_F(SettingsTest, Mcp) {
  SetEnvironment("STATOR_PORT", "9000");
  SetEnvironment("AWS_CA_BUNDLE", "/ca.pem");
  CommandLine line = Parse({"mcp"});
  EXPECT_EQ(line.action, CommandLine::Action::kMcp);
  EXPECT_FALSE(line.mcp.allow_writes);
  EXPECT_FALSE(line.mcp.http_port.has_value());
  EXPECT_EQ(line.mcp.ca_file, "/ca.pem");
  line = Parse({"mcp", "--endpoint=https://db:1", "--http-port=0", "--allow-writes",
                "--token-file=t", "--ca-file=/other.pem"});
  EXPECT_EQ(line.mcp.endpoint, "https://db:1");
  EXPECT_EQ(line.mcp.http_port, 0);
  EXPECT_TRUE(line.mcp.allow_writes);
  EXPECT_EQ(line.mcp.token_file, "t");
  EXPECT_EQ(line.mcp.ca_file, "/other.pem");
  ExpectExit({"mcp", "--http-port=70000"}, false, "70000");
  ExpectExit({"mcp", "--http-port=x"}, false, "whole number");
  ExpectExit({"mcp", "--token-file=t"}, false, "--http-port");
  ExpectExit({"mcp", "--allow-write"}, false, "--allow-writes");
}

TEST_F(SettingsTest, FlagsOfDynamoDbLocal) {
  EXPECT_EQ(TranslateLocalFlags({"-port", "8000", "-inMemory", "-sharedDb"}),
            (Arguments{"serve", "--port", "8000", "--in-memory"}));
  ServeSettings s = Serve({"-port", "8001", "-inMemory", "-sharedDb"});
  EXPECT_EQ(s.port, 8001);
  EXPECT_EQ(s.engine, EngineKind::kMemory);
  s = Serve({"-dbPath", "/data", "-cors", "https://a.example", "-delayTransientStatuses",
             "-optimizeDbBeforeStartup", "-disableTelemetry"});
  EXPECT_EQ(s.data_dir, "/data");
  EXPECT_EQ(s.cors, Arguments{"https://a.example"});
  EXPECT_TRUE(s.delay_transient_statuses);
  EXPECT_EQ(Serve({"serve", "-port", "8002"}).port, 8002);
  // What a Compose file for DynamoDB Local gives to `java`.
  EXPECT_EQ(TranslateLocalFlags({"-Djava.library.path=./DynamoDBLocal_lib", "-Xmx512m", "-jar",
                                 "DynamoDBLocal.jar", "-sharedDb", "-dbPath", "./data"}),
            (Arguments{"serve", "--data-dir", "./data"}));
  EXPECT_EQ(TranslateLocalFlags({"-jar", "DynamoDBLocal.jar"}), (Arguments{"serve"}));
  EXPECT_EQ(TranslateLocalFlags({"-jar"}), (Arguments{"serve"}));
  // A value that looks like a flag is a value.
  EXPECT_EQ(TranslateLocalFlags({"-dbPath", "-inMemory"}),
            (Arguments{"serve", "--data-dir", "-inMemory"}));
  // A flag without its value is refused with a sentence, not a crash.
  ExpectExit({"-port"}, false, "--port");
  ExpectExit({"-help"}, true, "serve");
  ExpectExit({"-version"}, true, STATOR_VERSION);
}

TEST_F(SettingsTest, TheClock) {
  EXPECT_EQ(Serve({}).clock, ClockKind::kSystem);
  EXPECT_EQ(Serve({"--clock=manual"}).clock, ClockKind::kManual);
  EXPECT_FALSE(Serve({"--clock=manual"}).clock_start_micros);
  EXPECT_EQ(Serve({"--clock=manual", "--clock-start", "2026-11-21T12:30:05Z"}).clock_start_micros,
            1'795'264'205'000'000);
  WriteToml("[serve]\nclock = \"manual\"\nclock-start = 1795264205\n");
  EXPECT_EQ(Serve({}).clock_start_micros, 1'795'264'205'000'000);
  SetEnvironment("STATOR_CLOCK_START", "1970-01-02");
  EXPECT_EQ(Serve({}).clock_start_micros, 86'400'000'000);
  SetEnvironment("STATOR_CLOCK", "system");
  ExpectExit({}, false, "--clock-start is for --clock=manual");
  ExpectExit({"--clock=manual", "--clock-start", "noon"}, false, "--clock-start");
  ExpectExit({"--clock=sundial"}, false, "--clock");
}

TEST_F(SettingsTest, TtlInterval) {
  EXPECT_EQ(Serve({}).ttl_interval_micros, 10'000'000);
  EXPECT_EQ(Serve({"--ttl-interval", "1m"}).ttl_interval_micros, 60'000'000);
  WriteToml("[serve]\nttl-interval = 2\n");
  EXPECT_EQ(Serve({}).ttl_interval_micros, 2'000'000);
  ExpectExit({"--ttl-interval", "0"}, false, "--ttl-interval");
  ExpectExit({"--ttl-interval", "often"}, false, "--ttl-interval");
}

TEST_F(SettingsTest, HelpAndVersion) {
  ExpectExit({"--help"}, true, "serve");
  ExpectExit({"serve", "--help"}, true, "--data-dir");
  ExpectExit({"--version"}, true, "stator " STATOR_VERSION " (");
  ExpectExit({"version"}, true, "stator " STATOR_VERSION " (");
  ExpectExit({"help"}, true, "Without a subcommand it serves");
  ExpectExit({"help", "serve"}, true, "--data-dir");
  ExpectExit({"simulate", "--help"}, true, "--no-files  ");
}

TEST_F(SettingsTest, UnknownFlagsAndCommandsNameTheNearest) {
  ExpectExit({"--prot", "8000"}, false, "there is no flag --prot; did you mean --port?");
  ExpectExit({"serve", "--datadir=/x"}, false,
             "there is no flag --datadir; did you mean --data-dir?");
  ExpectExit({"-inmemory"}, false, "there is no flag -inmemory; did you mean -inMemory?");
  ExpectExit({"serve", "--no-such-thing"}, false, "there is no flag --no-such-thing\n");
  ExpectExit({"serv"}, false, "there is no command \"serv\"; did you mean serve?");
  ExpectExit({"bake"}, false, "there is no command \"bake\"; stator --help lists them");
}

TEST_F(SettingsTest, BadValuesAreRefusedByName) {
  ExpectExit({"serve", "--port", "65536"}, false, "--port");
  ExpectExit({"serve", "--port", "-1"}, false, "--port");
  ExpectExit({"serve", "--port", "http"}, false, "--port");
  ExpectExit({"serve", "--durability", "sometimes"}, false, "--durability");
  ExpectExit({"serve", "--memory-budget-mb", "1"}, false, "--memory-budget-mb");
  ExpectExit({"serve", "--worker-threads", "0"}, false, "--worker-threads");
  ExpectExit({"serve", "--log-level", "loud"}, false, "--log-level");
  ExpectExit({"serve", "--init", "/no/such/directory"}, false, "--init");
  ExpectExit({"serve", "--no-such-flag"}, false, "no-such-flag");
  ExpectExit({"serve", "stray"}, false, "stray");
  ExpectExit({"bake"}, false, "there is no command \"bake\"");
  SetEnvironment("STATOR_PORT", "99999");
  ExpectExit({"serve"}, false, "STATOR_PORT: 99999 is not a whole number from 0 to 65535");
}

TEST_F(SettingsTest, FaultsOfTheFile) {
  WriteToml(R"([[faults]]
table = "music"
fault = "throttle"
probability = 0.25
operations = ["PutItem", "GetItem"]

[serve]
port = 1111

[[faults]]
table = "music"
fault = "stale-read"  # a comment
age = "2s"

[[faults]]
table = "*"
fault = "error"
)");
  const ServeSettings s = Serve({"serve"});
  EXPECT_EQ(s.port, 1111);
  ASSERT_EQ(s.faults.size(), 2u);
  const ops::FaultDial::Rules& music = s.faults.at("music");
  ASSERT_EQ(music.size(), 2u);
  EXPECT_EQ(music[0].fault, ops::Fault::kThrottle);
  EXPECT_EQ(music[0].probability, 0.25);
  EXPECT_EQ(music[0].operations, (Arguments{"PutItem", "GetItem"}));
  EXPECT_EQ(music[1].micros, 2'000'000);
  EXPECT_EQ(s.faults.at("*")[0].fault, ops::Fault::kError);
  WriteToml("[[faults]]\nfault = \"error\"\n");
  ExpectExit({"serve"}, false, "stator.toml:1: [[faults]]: each needs table");
  WriteToml("[[faults]]\ntable = \"music\"\nfault = \"error\"\nage = \"1s\"\n");
  ExpectExit({"serve"}, false, "fault error has no setting age");
  WriteToml("[[faults]]\ntable = \"mu sic\"\nfault = \"error\"\n");
  ExpectExit({"serve"}, false, "is no name of a table");
}

TEST_F(SettingsTest, IsolationIsForOneServerWithoutAccessControl) {
  EXPECT_FALSE(Serve({}).isolation.by_key);
  const IsolationSettings isolation = Serve({"--isolate=access-key"}).isolation;
  EXPECT_TRUE(isolation.by_key);
  EXPECT_EQ(isolation.most_accounts, 5000u);
  EXPECT_EQ(isolation.idle_micros, 3'600'000'000);
  WriteToml("[serve]\nisolate = \"access-key\"\nisolate-accounts = 7\nisolate-idle = \"0s\"\n");
  EXPECT_EQ(Serve({}).isolation.most_accounts, 7u);
  EXPECT_EQ(Serve({}).isolation.idle_micros, 0);
  EXPECT_EQ(Serve({"--isolate-idle=90s"}).isolation.idle_micros, 90'000'000);
  ExpectExit({"--auth=enforce"}, false, "--isolate=access-key is for --auth=off");
  ExpectExit({"--engine=rados", "--ceph-conf=x", "--pool=y"}, false,
             "--isolate=access-key is not for --engine=rados");
  ExpectExit({"--isolate=off"}, false, "--isolate-accounts needs --isolate=access-key");
  WriteToml("");
  // A clock is moved by days for the data, and not to say that no request came.
  EXPECT_EQ(Serve({"--isolate=access-key", "--clock=manual"}).isolation.idle_micros, 0);
  EXPECT_EQ(
      Serve({"--isolate=access-key", "--clock=manual", "--isolate-idle=1h"}).isolation.idle_micros,
      3'600'000'000);
}

TEST_F(SettingsTest, Throttling) {
  using throughput::Throttling;
  EXPECT_EQ(Serve({"serve"}).throttling.all, Throttling::kObserve);
  SetEnvironment("STATOR_THROTTLING", "off");
  EXPECT_EQ(Serve({"serve"}).throttling.all, Throttling::kOff);
  EXPECT_EQ(Serve({"serve", "--throttling=enforce"}).throttling.all, Throttling::kEnforce);
  ExpectExit({"serve", "--throttling=on"}, false, "--throttling");
  SetEnvironment("STATOR_THROTTLING", "");
  WriteToml(R"([serve]
throttling = "enforce"

[[throttling]]
table = "votes"
mode = "off"

[[throttling]]
table = "music"
mode = "observe"
)");
  const ServeSettings s = Serve({"serve"});
  EXPECT_EQ(s.throttling.all, Throttling::kEnforce);
  ASSERT_EQ(s.throttling.tables.size(), 2u);
  EXPECT_EQ(s.throttling.tables.at("votes"), Throttling::kOff);
  EXPECT_EQ(s.throttling.tables.at("music"), Throttling::kObserve);
  const auto refused = [&](const char* lines, const char* why) {
    WriteToml(std::string("[[throttling]]\n") + lines);
    ExpectExit({"serve"}, false, why);
  };
  refused("table = \"votes\"\n", "stator.toml:1: [[throttling]]: each needs table and mode");
  refused("mode = \"off\"\n", "each needs table and mode");
  refused("table = \"votes\"\nmode = \"on\"\n", "mode must be off, observe or enforce, not on");
  refused("table = \"votes\"\nmode = \"off\"\nfrom = 1\n", "each has table and mode, not from");
  refused("table = \"*\"\nmode = \"off\"\n", "throttling under [serve]");
  refused("table = \"v otes\"\nmode = \"off\"\n", "is no name of a table");
  refused("table = \"votes\"\nmode = \"off\"\n[[throttling]]\ntable = \"votes\"\nmode = \"off\"\n",
          "the table votes has two");
}

TEST_F(SettingsTest, ConstantsOfThroughput) {
  const throughput::ModelSettings standard = Serve({"serve"}).model;
  EXPECT_EQ(standard.partition_write_units, 1000);
  EXPECT_EQ(standard.account_quota_read_units, 80000);
  EXPECT_EQ(standard.decreases_per_day, 4);
  WriteToml(R"([serve]
port = 1111

[model]
partition_read_units = 30
partition_write_units = 10.5
partition_bytes = "1MB"
adaptive = "delayed"
burst = "10s"
partition_burst = 2
maximum_burst = "3s"
window = "30s"
most_partitions = 100
table_quota_read_units = 400
table_quota_write_units = 401
account_quota_read_units = 800
account_quota_write_units = 801
decreases_per_day = 9
decrease_pause = "1m"
on_demand_switches = 1

[[throttling]]
table = "votes"
mode = "off"
)");
  const ServeSettings s = Serve({"serve"});
  EXPECT_EQ(s.port, 1111);
  EXPECT_EQ(s.throttling.tables.size(), 1u);
  EXPECT_EQ(s.model.partition_read_units, 30);
  EXPECT_EQ(s.model.eventual_partition_read_units, 30);
  EXPECT_EQ(s.model.partition_write_units, 10.5);
  EXPECT_EQ(s.model.partition_bytes, 1 << 20);
  EXPECT_EQ(s.model.adaptive, throughput::Adaptive::kDelayed);
  EXPECT_EQ(s.model.burst_seconds, 10);
  EXPECT_EQ(s.model.partition_burst_seconds, 2);
  EXPECT_EQ(s.model.maximum_burst_seconds, 3);
  EXPECT_EQ(s.model.window_seconds, 30);
  EXPECT_EQ(s.model.most_partitions, 100);
  EXPECT_EQ(s.model.table_quota_read_units, 400);
  EXPECT_EQ(s.model.table_quota_write_units, 401);
  EXPECT_EQ(s.model.account_quota_read_units, 800);
  EXPECT_EQ(s.model.account_quota_write_units, 801);
  EXPECT_EQ(s.model.decreases_per_day, 9);
  EXPECT_EQ(s.model.decrease_pause_seconds, 60);
  EXPECT_EQ(s.model.on_demand_switches, 1);
  EXPECT_EQ(s.model.growth_factor, standard.growth_factor);
  const auto refused = [&](const std::string& text, const char* why) {
    WriteToml(text);
    ExpectExit({"serve"}, false, why);
  };
  refused("[model]\nbrust = \"10s\"\n", "stator.toml:2: model.brust: unknown key");
  refused("[model]\npartition_write_units = 0\n", "model.partition_write_units: must be between 1");
  refused("[model]\nburst = \"soon\"\n", "model.burst: must be a duration");
  refused("[model]\nburst = inf\n", "model.burst: must be between 0 and 1000000000 seconds");
  refused("[model]\nwindow = \"10ms\"\n", "model.window: must be between 1 and 3600 seconds");
  refused("[model]\non_demand_switches = 0\n", "model.on_demand_switches: must be between 1");
  refused("[model]\nmost_partitions = 4097\n", "model.most_partitions: must be between 1 and 4096");
  refused("[model.quota]\nread = 5\n", "model.quota: unknown key");
  refused("[[model]]\nburst = 5\n", "model: must be a table");
  refused("model = 3\n", "model");
}

TEST_F(SettingsTest, AMisspeltSettingInTheFileIsRefused) {
  WriteToml("[serve]\nprot = 1\n");
  ExpectExit({"serve"}, false, "prot");
  WriteToml("port = 1\n");  // outside [serve]
  ExpectExit({"serve"}, false, "port");
  WriteToml("[serve]\nport = \"many\"\n");
  ExpectExit({"serve"}, false, "port");
}

}  // namespace
}  // namespace stator::server
