#include "mcp/protocol.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

namespace stator::mcp {
namespace {

constexpr std::string_view kMeta =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
    R"("io.modelcontextprotocol/clientCapabilities":{}})";

class ProtocolTest : public testing::Test {
 protected:
  ProtocolTest() {
    settings_.api = settings_.management = *egress::ParseUrl("http://127.0.0.1:1");
    settings_.key = {"AKID", "secret", ""};
  }
  Answer Handle(std::string_view message, const HttpHeaders* http = nullptr) const {
    return Protocol(settings_, clock_, "1.2.3").Handle(message, http);
  }
  // The answer to a request with this method and these params.
  Document Ask(std::string_view method, std::string_view params,
               const HttpHeaders* http = nullptr) const {
    const Answer answer = Handle(
        fmt::format(R"({{"jsonrpc":"2.0","id":7,"method":"{}","params":{}}})", method, params),
        http);
    EXPECT_EQ(answer.text.find('\n'), std::string::npos);
    Result<Document> document = Document::Parse(answer.text);
    EXPECT_TRUE(document.ok()) << answer.text;
    return *std::move(document);
  }
  static Json Result_(const Document& answer) {
    EXPECT_TRUE(Member(answer.root(), "result")) << TextOf(answer.root());
    return Member(answer.root(), "result").value_or(answer.root());
  }
  static int ErrorOf(const Document& answer) {
    const std::optional<Json> error = Member(answer.root(), "error");
    return error ? static_cast<int>(NumberMember(*error, "code").value_or(0)) : 0;
  }
  int ErrorOf(std::string_view message) const {
    const Answer answer = Handle(message);
    const Result<Document> document = Document::Parse(answer.text);
    EXPECT_TRUE(document.ok()) << answer.text;
    return document.ok() ? ErrorOf(*document) : 0;
  }
  // Text of a tool's answer; `failed`: what isError says.
  std::string Call(std::string_view tool, std::string_view arguments, bool failed) const {
    const Document answer =
        Ask("tools/call", fmt::format(R"({{"name":"{}","arguments":{}}})", tool, arguments));
    const Json result = Result_(answer);
    EXPECT_EQ(TextOf(*Member(result, "isError")), failed ? "true" : "false") << TextOf(result);
    EXPECT_TRUE(Member(result, "structuredContent")->is_object());
    simdjson::dom::array content;
    EXPECT_EQ(Member(result, "content")->get(content), simdjson::SUCCESS);
    return std::string(TextMember(content.at(0).value_unsafe(), "text").value_or(""));
  }
  std::set<std::string> Tools() const {
    const Document answer = Ask("tools/list", "{}");
    simdjson::dom::array tools;
    EXPECT_EQ(Member(Result_(answer), "tools")->get(tools), simdjson::SUCCESS);
    std::set<std::string> names;
    for (const Json tool : tools) names.emplace(*TextMember(tool, "name"));
    return names;
  }

  EndpointSettings settings_;
  SystemClock clock_;
};

TEST_F(ProtocolTest, HandshakeAgreesOnARevision) {
  for (const auto& [asked, answered] :
       {std::pair("2025-06-18", "2025-06-18"), std::pair("2025-11-25", "2025-11-25"),
        std::pair("2024-11-05", "2025-11-25"), std::pair("2026-07-28", "2025-11-25"),
        std::pair("2999-01-01", "2025-11-25")}) {
    const Document answer =
        Ask("initialize", fmt::format(R"({{"protocolVersion":"{}","capabilities":{{}},)"
                                      R"("clientInfo":{{"name":"t","version":"1"}}}})",
                                      asked));
    const Json result = Result_(answer);
    EXPECT_EQ(TextMember(result, "protocolVersion"), answered);
    EXPECT_EQ(TextMember(*Member(result, "serverInfo"), "version"), "1.2.3");
    EXPECT_TRUE(Member(*Member(result, "capabilities"), "tools"));
  }
  EXPECT_EQ(ErrorOf(Ask("initialize", "{}")), -32602);
  EXPECT_EQ(TextOf(Result_(Ask("ping", "{}"))), "{}");
}

TEST_F(ProtocolTest, EveryToolIsAsTheProtocolWantsIt) {
  settings_.allow_writes = true;
  const Document answer = Ask("tools/list", "{}");
  simdjson::dom::array tools;
  ASSERT_EQ(Member(Result_(answer), "tools")->get(tools), simdjson::SUCCESS);
  EXPECT_EQ(tools.size(), AllTools().size());
  for (const Json tool : tools) {
    const std::string_view name = *TextMember(tool, "name");
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos);
    EXPECT_GT(TextMember(tool, "description")->size(), 20u) << name;
    const Json schema = *Member(tool, "inputSchema");
    EXPECT_EQ(TextMember(schema, "type"), "object") << name;
    EXPECT_EQ(TextOf(*Member(schema, "additionalProperties")), "false") << name;
    EXPECT_TRUE(Member(*Member(tool, "annotations"), "readOnlyHint")) << name;
  }
}

TEST_F(ProtocolTest, WithoutLeaveToolsThatWriteAreNeitherOfferedNorRun) {
  std::set<std::string> writes;
  for (const Tool& tool : AllTools())
    if (tool.writes()) writes.emplace(tool.name);
  EXPECT_EQ(writes, (std::set<std::string>{"put_item", "update_item", "delete_item", "create_table",
                                           "set_faults", "advance_clock"}));
  const std::set<std::string> offered = Tools();
  for (const std::string& name : writes) {
    EXPECT_FALSE(offered.contains(name));
    EXPECT_NE(Call(name, "{}", true).find("read-only"), std::string::npos);
  }
  settings_.allow_writes = true;
  EXPECT_EQ(Tools().size(), offered.size() + writes.size());
}

TEST_F(ProtocolTest, ArgumentsAreCheckedAgainstTheSchema) {
  EXPECT_NE(Call("get_item", R"({"table":"t"})", true).find("argument key is missing"),
            std::string::npos);
  EXPECT_NE(Call("get_item", R"({"table":1,"key":{}})", true).find("table must be a string"),
            std::string::npos);
  EXPECT_NE(Call("scan", R"({"table":"t","limit":0})", true).find("from 1 to 1000"),
            std::string::npos);
  EXPECT_NE(Call("scan", R"({"table":"t","limit":1.5})", true).find("an integer"),
            std::string::npos);
  EXPECT_NE(Call("scan", R"({"table":"t","ConsistentRead":true})", true)
                .find("There is no argument \"ConsistentRead\""),
            std::string::npos);
  EXPECT_EQ(ErrorOf(Ask("tools/call", R"({"name":"none"})")), -32602);
  EXPECT_EQ(ErrorOf(Ask("tools/call", R"({"arguments":{}})")), -32602);
  EXPECT_EQ(ErrorOf(Ask("tools/call", R"({"name":"scan","arguments":[]})")), -32602);
  EXPECT_EQ(ErrorOf(Ask("tools/call", "[]")), -32602);
}

TEST_F(ProtocolTest, AServerThatIsNotThereIsAFailureOfTheTool) {
  EXPECT_NE(Call("list_tables", "{}", true).find("http://127.0.0.1:1 gave no answer"),
            std::string::npos);
}

TEST_F(ProtocolTest, PartiqlThatWritesIsRefusedWithAndWithoutLeave) {
  for (const bool leave : {false, true}) {
    settings_.allow_writes = leave;
    for (const char* text :
         {"DELETE FROM t WHERE k='1'", "/* SELECT */ INSERT INTO t VALUE {'k':'1'}",
          "UPDATE t SET a=1 WHERE k='1'"}) {
      const std::string arguments = ObjectText().AddText("statement", text).Take();
      EXPECT_NE(Call("partiql", arguments, true).find("Only SELECT"), std::string::npos) << text;
    }
  }
}

TEST_F(ProtocolTest, LessonsAndScenariosArePlayedHere) {
  EXPECT_NE(Call("lessons", "{}", false).find("hot-date"), std::string::npos);
  const std::string lesson = Call("lessons", R"({"name":"hot-date"})", false);
  EXPECT_NE(lesson.find("Hot key"), std::string::npos);
  EXPECT_NE(Call("lessons", R"({"name":"none"})", true).find("none"), std::string::npos);
  const Document answer =
      Ask("tools/call", R"({"name":"lessons","arguments":{"name":"hot-date"}})");
  simdjson::dom::array scenarios;
  ASSERT_EQ(Member(*Member(Result_(answer), "structuredContent"), "scenarios")->get(scenarios),
            simdjson::SUCCESS);
  const std::string toml(*TextMember(scenarios.at(0).value_unsafe(), "toml"));
  const std::string played = Call("simulate", ObjectText().AddText("scenario", toml).Take(), false);
  EXPECT_NE(played.find("throttled"), std::string::npos) << played;
  EXPECT_NE(Call("simulate", R"({"scenario":"nonsense = ["})", true).find("scenario.toml"),
            std::string::npos);
}

TEST_F(ProtocolTest, AThreadThatMayNotPlayRunsNoScenario) {
  const Protocol protocol(settings_, clock_, "1.2.3");
  const auto plays = [&protocol](std::string_view tool) {
    const Answer answer = protocol.Handle(
        fmt::format(R"({{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{}"}}}})",
                    tool),
        nullptr, false);
    EXPECT_EQ(answer.plays, answer.text.empty()) << tool;
    return answer.plays;
  };
  EXPECT_TRUE(plays("simulate"));
  EXPECT_TRUE(plays(R"(simul\u0061te)"));
  EXPECT_TRUE(plays("lessons"));
  EXPECT_FALSE(plays("none"));
  EXPECT_FALSE(plays("put_item"));
  EXPECT_FALSE(
      protocol.Handle(R"({"jsonrpc":"2.0","id":1,"method":"ping"})", nullptr, false).plays);
}

TEST_F(ProtocolTest, NotificationsAndAnswersGetNone) {
  for (const char* text :
       {R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})",
        R"({"jsonrpc":"2.0","method":"notifications/none","params":[]})",
        R"({"jsonrpc":"2.0","method":"tools/call","params":{"name":"put_item"}})",
        R"({"jsonrpc":"2.0","id":1,"result":{}})"}) {
    const Answer answer = Handle(text);
    EXPECT_EQ(answer.text, "") << text;
    EXPECT_EQ(answer.http_status, 202);
  }
}

TEST_F(ProtocolTest, MalformedMessagesGetErrors) {
  EXPECT_EQ(ErrorOf("{"), -32700);
  EXPECT_EQ(ErrorOf(""), -32700);
  EXPECT_EQ(ErrorOf("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}"), -32700);
  EXPECT_EQ(ErrorOf(std::string(100'000, '[')), -32700);
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "{\"a\":";
  EXPECT_EQ(ErrorOf(deep), -32700);
  for (const char* text : {"[]", "1", "null", "{}", R"({"jsonrpc":"1.0","id":1,"method":"ping"})",
                           R"({"jsonrpc":"2.0","id":1})", R"({"jsonrpc":"2.0","id":1,"method":5})",
                           R"({"jsonrpc":"2.0","id":null,"method":"ping"})",
                           R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})",
                           R"({"jsonrpc":"2.0","id":{},"method":"ping"})",
                           R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])"}) {
    EXPECT_EQ(ErrorOf(text), -32600) << text;
  }
  EXPECT_EQ(
      ErrorOf(R"({"jsonrpc":"2.0","id":")" + std::string(1000, 'x') + R"(","method":"ping"})"),
      -32600);
  EXPECT_EQ(ErrorOf(Ask("resources/list", "{}")), -32601);
  EXPECT_EQ(ErrorOf(Ask("tools/list", R"({"cursor":"x"})")), -32602);
  const Answer long_one = Handle(std::string(kMostMessageBytes + 1, ' '));
  EXPECT_NE(long_one.text.find("-32600"), std::string::npos);
  EXPECT_EQ(Handle(R"({"jsonrpc":"2.0","id":"a\u0000\"b","method":"ping"})").text,
            R"({"jsonrpc":"2.0","id":"a\u0000\"b","result":{}})");
}

TEST_F(ProtocolTest, WithoutAHandshakeEachRequestSaysItsRevision) {
  const std::string params = fmt::format("{{{}}}", kMeta);
  const Document discovered = Ask("server/discover", params);
  EXPECT_EQ(TextOf(*Member(Result_(discovered), "supportedVersions")), R"(["2026-07-28"])");
  EXPECT_EQ(TextMember(Result_(discovered), "resultType"), "complete");
  const Document listed = Ask("tools/list", params);
  EXPECT_EQ(TextMember(Result_(listed), "cacheScope"), "private");
  EXPECT_TRUE(Member(*Member(Result_(listed), "_meta"), "io.modelcontextprotocol/serverInfo"));
  EXPECT_EQ(TextMember(Result_(Ask("tools/call", fmt::format(R"({{"name":"lessons",{}}})", kMeta))),
                       "resultType"),
            "complete");
  EXPECT_EQ(ErrorOf(Ask("ping", params)), -32601);
  EXPECT_EQ(ErrorOf(Ask("initialize", params)), -32601);
  EXPECT_EQ(ErrorOf(Ask("server/discover", "{}")), -32602);
  EXPECT_EQ(ErrorOf(Ask("tools/list",
                        R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}})")),
            -32602);
  const Document other =
      Ask("tools/list", R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01"}})");
  EXPECT_EQ(ErrorOf(other), -32022);
  EXPECT_EQ(TextMember(*Member(*Member(other.root(), "error"), "data"), "requested"), "2027-01-01");
}

TEST_F(ProtocolTest, HeadersMustSayWhatTheMessageSays) {
  const std::string message = fmt::format(
      R"({{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"lessons",{}}}}})",
      kMeta);
  const HttpHeaders right{"2026-07-28", "tools/call", "lessons"};
  EXPECT_EQ(Handle(message, &right).http_status, 200);
  for (const HttpHeaders& wrong :
       {HttpHeaders{}, HttpHeaders{"2026-07-28", "tools/list", "lessons"},
        HttpHeaders{"2026-07-28", "tools/call", "scan"},
        HttpHeaders{"2025-11-25", "tools/call", "lessons"}}) {
    const Answer answer = Handle(message, &wrong);
    EXPECT_EQ(answer.http_status, 400);
    EXPECT_NE(answer.text.find("-32020"), std::string::npos) << answer.text;
  }
  const HttpHeaders unknown{"2026-07-28", "none", ""};
  const Answer answer =
      Handle(fmt::format(R"({{"jsonrpc":"2.0","id":1,"method":"none","params":{{{}}}}})", kMeta),
             &unknown);
  EXPECT_EQ(answer.http_status, 404);
  EXPECT_NE(answer.text.find("-32601"), std::string::npos);
  const HttpHeaders old{"2024-01-01", "", ""}, absent, legacy{"2025-06-18", "", ""};
  const char* const ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
  EXPECT_EQ(Handle(ping, &old).http_status, 400);
  EXPECT_EQ(Handle(ping, &absent).http_status, 200);
  EXPECT_EQ(Handle(ping, &legacy).http_status, 200);
}

}  // namespace
}  // namespace stator::mcp
