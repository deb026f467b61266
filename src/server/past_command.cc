#include "server/past_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "access/sigv4.h"
#include "api_client/signed_headers.h"
#include "base/clock.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "base/printable.h"
#include "egress/client.h"
#include "server/command_exit.h"
#include "simdjson.h"

namespace stator::server {
namespace {

using Element = simdjson::dom::element;

class Server {
 public:
  static Result<std::unique_ptr<Server>> At(const PastCommand& command) {
    ASSIGN_OR_RETURN(const egress::Url url, egress::ParseUrl(command.endpoint_url));
    std::shared_ptr<const egress::TlsTrust> trust;
    if (url.tls) {
      ASSIGN_OR_RETURN(trust, egress::TlsTrust::Load(command.authorities_file));
    }
    return std::unique_ptr<Server>(new Server(url, std::move(trust), command));
  }

  // Returns the body of the answer; an error with the server's message for another status than 200.
  Result<std::string> Ask(const std::string& body) {
    egress::Headers headers = {{"Content-Type", "application/json"},
                               {"X-Stator-Management", "true"}};
    if (!key_.key_id.empty()) {
      headers = api_client::SignedHeaders({key_, region_, "stator", clock_.NowMicros()},
                                          client_.server(), "POST", target_, body, headers);
    }
    ASSIGN_OR_RETURN(egress::Reply reply, client_.Call("POST", target_, headers, body));
    if (reply.status == 200) return std::move(reply.body);
    simdjson::dom::parser parser;
    std::string_view message;
    if (parser.parse(reply.body.data(), reply.body.size())["message"].get(message) !=
        simdjson::SUCCESS)
      message = reply.body;
    return Error(ErrorCode::kUnavailable,
                 fmt::format("the server answered {}: {}", reply.status, message));
  }

 private:
  Server(const egress::Url& url, std::shared_ptr<const egress::TlsTrust> trust,
         const PastCommand& command)
      : region_(command.region),
        target_(fmt::format("/_stator/tables/{}/past/{}", command.table, command.call)),
        client_(url, Limits(), std::move(trust), clock_) {
    const auto variable = [](const char* name) {
      const char* value = std::getenv(name);
      return std::string(value == nullptr ? "" : value);
    };
    key_ = {variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"),
            variable("AWS_SESSION_TOKEN")};
  }
  static egress::Limits Limits() {
    egress::Limits limits;
    limits.body_bytes = 64 << 20;
    return limits;
  }

  const SystemClock clock_;
  const std::string region_;
  const std::string target_;
  access::SigningKey key_;
  egress::Client client_;
};

// The window of the first page, which the next ones repeat, and where to go on.
struct Position {
  std::string from;
  std::string to;
  std::string start;
};

std::string BodyOf(const PastCommand& command, const Position& position) {
  JsonWriter json;
  json.Open('{');
  if (!command.at.empty()) json.Field("at", command.at);
  if (!position.from.empty()) json.Field("from", position.from);
  if (!position.to.empty()) json.Field("to", position.to);
  if (!position.start.empty()) json.Field("start", position.start);
  if (command.apply) json.Key("apply").Bool(true);
  std::string body = json.Close('}').Take();
  // The key is JSON already.
  if (!command.key.empty()) body.insert(1, R"("key":)" + command.key + (body[1] == '}' ? "" : ","));
  return body;
}

std::string TextOf(Element element) { return simdjson::minify(element); }

void Print(std::string_view line) { fmt::print("{}\n", Printable(line)); }

// Counts what the pages tell, and prints it.
class Report {
 public:
  explicit Report(const PastCommand& command) : command_(command) {}

  void Take(Element page) {
    simdjson::dom::array list;
    Element item;
    if (page["item"].get(item) == simdjson::SUCCESS) {
      missing_ = item.is_null();
      if (missing_) {
        fmt::print(stderr, "There was no such item at {}.\n", command_.at);
      } else {
        Print(TextOf(item));
      }
    }
    if (page["items"].get(list) == simdjson::SUCCESS) {
      for (Element each : list) command_.call == "undo" ? TakeUndone(each) : Print(TextOf(each));
    }
    if (page["changes"].get(list) == simdjson::SUCCESS) {
      for (Element each : list) TakeChange(each);
    }
    int64_t records = 0;
    if (page["records"].get(records) == simdjson::SUCCESS) TakeForgotten(page, records);
    std::string_view text;
    if (page["from"].get(text) == simdjson::SUCCESS) from_ = text;
    if (page["to"].get(text) == simdjson::SUCCESS) to_ = text;
  }

  // Prints the sums and returns the exit code.
  int End() {
    if (command_.call == "difference") {
      fmt::print("{} items differ between {} and {}: {} created, {} changed, {} deleted.\n",
                 Sum(counts_), from_, to_, counts_["created"], counts_["changed"],
                 counts_["deleted"]);
    } else if (command_.call == "history") {
      fmt::print("{} changes between {} and {}.\n", Sum(counts_), from_, to_);
    } else if (command_.call == "undo") {
      return EndUndo();
    }
    return missing_ ? 1 : 0;
  }

 private:
  static int64_t Sum(const std::map<std::string, int64_t, std::less<>>& counts) {
    int64_t sum = 0;
    for (const auto& [name, count] : counts) sum += count;
    return sum;
  }

  void TakeChange(Element change) {
    Element before, after, key;
    std::string_view time;
    if (change["before"].get(before) != simdjson::SUCCESS ||
        change["after"].get(after) != simdjson::SUCCESS ||
        change["time"].get(time) != simdjson::SUCCESS)
      return;
    const std::string what = before.is_null() ? "created" : after.is_null() ? "deleted" : "changed";
    ++counts_[what];
    if (change["key"].get(key) == simdjson::SUCCESS) {
      Print(fmt::format("{}  {}  {}", time, what, TextOf(key)));
    } else {
      const std::string item = after.is_null() ? "" : "  " + TextOf(after);
      Print(fmt::format("{}  {}{}", time, what, item));
    }
  }

  void TakeUndone(Element item) {
    Element key;
    std::string_view outcome, error;
    if (item["key"].get(key) != simdjson::SUCCESS ||
        item["outcome"].get(outcome) != simdjson::SUCCESS)
      return;
    ++counts_[std::string(outcome)];
    std::string line = fmt::format("{:8}  {}", outcome, TextOf(key));
    if (item["error"].get(error) == simdjson::SUCCESS) line += fmt::format("  {}", error);
    Print(line);
  }

  void TakeForgotten(Element page, int64_t records) {
    fmt::print("{} records of the item's history were erased.\n", records);
    simdjson::dom::array backups;
    if (page["backups"].get(backups) != simdjson::SUCCESS || backups.size() == 0) return;
    fmt::print("These backups of the table were left as they are, and may hold the item:\n");
    for (Element backup : backups) Print(std::string(std::string_view(backup)));
  }

  int EndUndo() {
    fmt::print("{} items changed between {} and {}.\n", Sum(counts_), from_, to_);
    const auto line = [](std::string_view what, int64_t count) {
      fmt::print("  {:28} {}\n", fmt::format("{}:", what), count);
    };
    line(command_.apply ? "put back" : "would be put back", counts_["put"]);
    line(command_.apply ? "deleted" : "would be deleted", counts_["delete"]);
    line("as they were before", counts_["already"]);
    line("changed later, left alone", counts_["conflict"]);
    if (!command_.apply) {
      fmt::print("Nothing was changed. Give the command again with --apply to do it.\n");
      return 0;
    }
    line("failed", counts_["failed"]);
    return counts_["conflict"] + counts_["failed"] == 0 ? 0 : 1;
  }

  const PastCommand& command_;
  std::map<std::string, int64_t, std::less<>> counts_;
  std::string from_;
  std::string to_;
  bool missing_ = false;
};

Result<int> Run(const PastCommand& command) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  };
  if (command.table.empty() || !std::all_of(command.table.begin(), command.table.end(), is_plain))
    return ValidationError("\"" + command.table + "\" is no name of a table");
  simdjson::dom::parser parser;
  Element key;
  if (!command.key.empty() &&
      (parser.parse(command.key.data(), command.key.size()).get(key) != simdjson::SUCCESS ||
       !key.is_object()))
    return ValidationError(
        "The key must be JSON as the API has it, such as {\"id\":{\"S\":\"a\"}}");
  ASSIGN_OR_RETURN(const std::unique_ptr<Server> server, Server::At(command));
  Position position{command.from, command.to, ""};
  Report report(command);
  for (;;) {
    ASSIGN_OR_RETURN(const std::string answer, server->Ask(BodyOf(command, position)));
    Element page;
    if (parser.parse(answer.data(), answer.size()).get(page) != simdjson::SUCCESS)
      return Error(ErrorCode::kUnavailable, "the server's answer is no JSON");
    if (command.json) {
      fmt::print("{}", PrintableLines(answer));
    } else {
      report.Take(page);
    }
    std::string_view text;
    if (page["from"].get(text) == simdjson::SUCCESS) position.from = text;
    if (page["to"].get(text) == simdjson::SUCCESS) position.to = text;
    if (page["next"].get(text) != simdjson::SUCCESS) break;
    position.start = text;
    std::fflush(stdout);
  }
  return command.json ? 0 : report.End();
}

}  // namespace

void AddPastCommands(CLI::App* app, PastCommand* command) {
  struct Words {
    const char* call;
    const char* does;
  };
  constexpr Words kWords[] = {
      {"at", "print items of a table as they were at a moment (docs/past.md)"},
      {"difference", "print what became of a table's items between two moments"},
      {"history", "print the changes of one item"},
      {"undo", "put back what changed in a range of time; without --apply say what that would do"},
      {"forget", "erase the history of an item that is deleted"},
  };
  constexpr const char* kMoment =
      "a moment such as 2026-11-26T22:00:00Z, or seconds or milliseconds since 1970";
  for (const Words& words : kWords) {
    const std::string call = words.call;
    const auto given = std::make_shared<PastCommand>();
    CLI::App* sub = app->add_subcommand(call, words.does);
    sub->add_option("TABLE", given->table, "the table, which has point-in-time recovery")
        ->required();
    const char* const key = "the item's key as the API has it, such as {\"id\":{\"S\":\"a\"}}";
    if (call == "at") {
      sub->add_option("MOMENT", given->at, kMoment)->required();
      sub->add_option("KEY", given->key, key);
    } else if (call == "difference" || call == "undo") {
      sub->add_option("FROM", given->from, kMoment)->required();
      CLI::Option* to = sub->add_option("TO", given->to, "a later moment");
      if (call == "undo") to->required();
    } else {
      sub->add_option("KEY", given->key, key)->required();
    }
    if (call == "history") {
      sub->add_option("--from", given->from, kMoment);
      sub->add_option("--to", given->to, kMoment);
    }
    if (call == "undo") sub->add_flag("--apply", given->apply, "do it");
    sub->add_flag("--json", given->json, "print the server's answers, one in a line");
    sub->add_option("--endpoint-url", given->endpoint_url, "the server to ask")
        ->envname("AWS_ENDPOINT_URL")
        ->capture_default_str();
    sub->add_option("--region", given->region, "Region that calls are signed for")
        ->envname("STATOR_REGION")
        ->capture_default_str();
    sub->add_option("--ca", given->authorities_file,
                    "certificates of the authorities that an https:// server is trusted by");
    sub->callback([command, given, call] {
      *command = *given;
      command->call = call;
    });
  }
}

int Execute(const PastCommand& command) {
  SetLogLevel(LogLevel::kWarn);
  return ExitStatus(Run(command));
}

}  // namespace stator::server
