// docs/settings.md and examples/stator.toml have every flag of `stator serve`, and no other.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "server/command_line.h"

namespace stator::server {
namespace {

using Names = std::set<std::string>;

// Tests run somewhere below the checkout.
std::string PathOf(const std::string& relative) {
  for (std::filesystem::path at = std::filesystem::current_path();; at = at.parent_path()) {
    if (std::filesystem::exists(at / relative)) return (at / relative).string();
    if (at == at.parent_path())
      return (std::filesystem::path(__FILE__).parent_path() / "../.." / relative).string();
  }
}

std::string FileText(const std::string& relative) {
  std::ifstream in(PathOf(relative));
  EXPECT_TRUE(in) << relative;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string Help() {
  const char* argv[] = {"stator", "serve", "--help"};
  testing::internal::CaptureStdout();
  const CommandLine line = ParseCommandLine(3, argv);
  EXPECT_EQ(line.exit_code, 0);
  return testing::internal::GetCapturedStdout();
}

Names All(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern, std::regex::multiline);
  Names names;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), none; at != none; ++at)
    names.insert((*at)[1]);
  return names;
}

Names Flags() {
  Names flags = All(Help(), "^ +(?:-[a-z],)?--([a-z0-9-]+)");
  flags.erase("help");
  return flags;
}

TEST(SettingsPage, HasEveryFlagAndVariable) {
  ASSERT_GT(Flags().size(), 20u) << Help();
  const std::string page = FileText("docs/settings.md");
  EXPECT_EQ(All(page, "^\\| `--([a-z0-9-]+)` +\\|"), Flags());
  EXPECT_EQ(All(page, "`(STATOR_[A-Z0-9_]+)`"), All(Help(), "\\(Env:(STATOR_[A-Z0-9_]+)\\)"));
}

TEST(SettingsPage, TheSampleFileIsAcceptedAndComplete) {
  const std::string path = PathOf("examples/stator.toml");
  const char* argv[] = {"stator", "serve", "--config", path.c_str()};
  testing::internal::CaptureStderr();
  const CommandLine line = ParseCommandLine(4, argv);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_EQ(line.action, CommandLine::Action::kServe);
  EXPECT_EQ(line.serve.port, 8000);
  EXPECT_EQ(line.serve.engine, EngineKind::kRocksDb);
  EXPECT_EQ(line.serve.worker_threads, ServeSettings().worker_threads);
  EXPECT_EQ(line.serve.memory_budget_mb, ServeSettings().memory_budget_mb);
  EXPECT_EQ(line.serve.ttl_interval_micros, ServeSettings().ttl_interval_micros);
  EXPECT_EQ(line.serve.cors, ServeSettings().cors);
  EXPECT_EQ(line.serve.throttling.tables.size(), 1u);
  EXPECT_EQ(line.serve.auto_scaling.size(), 1u);
  EXPECT_EQ(line.serve.faults.size(), 1u);
  EXPECT_EQ(line.serve.model.partition_read_units, 3000);

  const std::string text = FileText("examples/stator.toml");
  const std::string serve = text.substr(0, text.find("\n[model]"));
  EXPECT_EQ(All(serve, "^(?:# )?([a-z0-9-]+) += "), Flags());
}

// The options stand commented in the sample: with them it is a file for a cluster.
TEST(SettingsPage, TheSampleFileHasAllOptionsOfACluster) {
  std::string text = FileText("examples/stator.toml");
  for (const char* left_out : {"data-dir", "durability", "memory-budget-mb", "engine"})
    text = std::regex_replace(text, std::regex("\n" + std::string(left_out) + " [^\n]*"), "");
  text = std::regex_replace(text, std::regex("\n# (ceph-[a-z]+|ceph-split-[a-z]+|pool)"), "\n$1");
  text = std::regex_replace(text, std::regex("\\[serve\\]\n"), "[serve]\nengine = \"rados\"\n");
  char name[] = "/tmp/stator-sample-XXXXXX";
  const std::filesystem::path directory = mkdtemp(name);
  const std::string path = directory / "stator.toml";
  std::ofstream(path) << text;
  const char* argv[] = {"stator", "serve", "--config", path.c_str()};
  testing::internal::CaptureStderr();
  const CommandLine line = ParseCommandLine(4, argv);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << text;
  EXPECT_EQ(line.action, CommandLine::Action::kServe);
  EXPECT_EQ(line.serve.pool, "stator");
  EXPECT_EQ(line.serve.ceph_split_bytes, ServeSettings().ceph_split_bytes);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace stator::server
