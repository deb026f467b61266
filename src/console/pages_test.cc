#include "console/pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/compress.h"
#include "console/files.h"

namespace stator::console {
namespace {

std::string HeaderOf(const http::Reply& reply, std::string_view name) {
  for (const auto& [header, value] : reply.headers) {
    if (header == name) return value;
  }
  return "";
}

http::Reply Ask(std::string_view target, std::vector<http::Header> headers = {},
                std::string_view method = "GET", bool on = true) {
  http::Request request;
  request.method = method;
  request.target = target;
  request.headers = std::move(headers);
  const Pages pages(on);
  EXPECT_TRUE(pages.Owns(request)) << method << " " << target;
  return pages.Answer(request);
}

bool Owns(std::string_view method, std::string_view target, std::string_view accept,
          bool on = true) {
  http::Request request;
  request.method = method;
  request.target = target;
  request.headers = {{"Accept", accept}};
  return Pages(on).Owns(request);
}

const File& FileNamed(std::string_view start) {
  const auto found = std::find_if(Files().begin(), Files().end(), [start](const File& file) {
    return file.path.starts_with(start);
  });
  EXPECT_NE(found, Files().end()) << start;
  return *found;
}

TEST(Files, AreSortedWholeAndSmall) {
  ASSERT_GT(Files().size(), 10u);
  EXPECT_TRUE(std::is_sorted(Files().begin(), Files().end(),
                             [](const File& a, const File& b) { return a.path < b.path; }));
  size_t bytes = 0;
  std::set<std::string_view> etags;
  for (const File& file : Files()) {
    const Result<std::string> inflated = Decompress(Encoding::kGzip, file.gzip, 1 << 20);
    ASSERT_TRUE(inflated.ok()) << file.path;
    EXPECT_EQ(inflated->size(), file.bytes) << file.path;
    EXPECT_EQ(file.immutable, file.path != "index.html") << file.path;
    EXPECT_TRUE(etags.insert(file.etag).second) << file.path;
    bytes += file.gzip.size();
  }
  EXPECT_LT(bytes, 300u << 10);
}

TEST(Pages, EachFileIsSentAsItIsStored) {
  for (const File& file : Files()) {
    if (!file.immutable) continue;
    const http::Reply reply =
        Ask("/console/" + std::string(file.path), {{"Accept-Encoding", "br, gzip"}});
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, file.gzip);
    EXPECT_EQ(HeaderOf(reply, "Content-Encoding"), "gzip");
    EXPECT_EQ(HeaderOf(reply, "Content-Type"), file.type);
    EXPECT_EQ(HeaderOf(reply, "Cache-Control"), "public, max-age=31536000, immutable");
  }
}

TEST(Pages, TheFirstPageHasTheSecurityHeadersAndNamesItsFiles) {
  const http::Reply reply = Ask("/console/");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(HeaderOf(reply, "Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(HeaderOf(reply, "Content-Encoding"), "");
  EXPECT_EQ(HeaderOf(reply, "Cache-Control"), "no-cache");
  EXPECT_EQ(HeaderOf(reply, "Referrer-Policy"), "no-referrer");
  EXPECT_EQ(HeaderOf(reply, "Cross-Origin-Opener-Policy"), "same-origin");
  EXPECT_EQ(HeaderOf(reply, "Cross-Origin-Resource-Policy"), "same-origin");
  const std::string policy = HeaderOf(reply, "Content-Security-Policy");
  for (const char* part : {"default-src 'none';", "frame-ancestors 'none';", "form-action 'none';",
                           "require-trusted-types-for 'script'"}) {
    EXPECT_NE(policy.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_NE(reply.body.find("<!doctype html>"), std::string::npos);
  EXPECT_NE(reply.body.find(std::string("./") + std::string(FileNamed("assets/main-").path)),
            std::string::npos);
  EXPECT_EQ(Ask("/console/?x=1").body, reply.body);
}

TEST(Pages, AKnownTagSavesTheBody) {
  const std::string tag = HeaderOf(Ask("/console/"), "ETag");
  ASSERT_EQ(tag.size(), 18u);
  for (const std::string& known : {tag, "W/" + tag, "\"x\", " + tag, std::string("*")}) {
    const http::Reply reply = Ask("/console/", {{"If-None-Match", known}});
    EXPECT_EQ(reply.status, 304) << known;
    EXPECT_EQ(reply.body, "");
    EXPECT_EQ(HeaderOf(reply, "ETag"), tag);
  }
  EXPECT_EQ(Ask("/console/", {{"If-None-Match", tag.substr(1)}}).status, 200);
  EXPECT_EQ(Ask("/console/", {{"If-None-Match", "\"other\""}}).status, 200);
}

TEST(Pages, GzipOnlyForThoseThatTakeIt) {
  const auto gzip = [](std::string_view accepted) {
    return HeaderOf(Ask("/console/", {{"Accept-Encoding", accepted}}), "Content-Encoding") ==
           "gzip";
  };
  EXPECT_TRUE(gzip("gzip"));
  EXPECT_TRUE(gzip("deflate, gzip;q=0.5"));
  EXPECT_TRUE(gzip("*"));
  EXPECT_FALSE(gzip("gzip;q=0"));
  EXPECT_FALSE(gzip("gzip;q=0.000, br"));
  EXPECT_FALSE(gzip("identity"));
  EXPECT_FALSE(gzip(""));
}

TEST(Pages, OtherPathsLeadBackRelatively) {
  const auto location = [](std::string_view target) {
    const http::Reply reply = Ask(target, {{"Accept", "text/html,*/*"}});
    EXPECT_EQ(reply.status, 302) << target;
    return HeaderOf(reply, "Location");
  };
  EXPECT_EQ(location("/"), "console/");
  EXPECT_EQ(location("/?x"), "console/");
  EXPECT_EQ(location("/console"), "console/");
  EXPECT_EQ(location("/shell"), "console/");
  EXPECT_EQ(location("/shell/"), "../console/");
  EXPECT_EQ(location("/console/tables"), "./");
  EXPECT_EQ(location("/console/tables/music/items"), "../../");
  EXPECT_EQ(location("/console/index.html"), "./");
  EXPECT_EQ(location("/console/manifest.json"), "./");
  EXPECT_EQ(location("/console/../etc/passwd"), "../../");
}

TEST(Pages, AFileThatIsGoneIsNoPage) {
  for (const char* name : {"main-AAAAAAAA.js", "", "../../etc/passwd", "%2e%2e/x"}) {
    const http::Reply reply = Ask(std::string("/console/assets/") + name);
    EXPECT_EQ(reply.status, 404) << name;
  }
}

TEST(Pages, OtherMethodsAreRefused) {
  const http::Reply reply = Ask("/console/", {}, "POST");
  EXPECT_EQ(reply.status, 405);
  EXPECT_EQ(HeaderOf(reply, "Allow"), "GET, HEAD");
  EXPECT_EQ(Ask("/console/", {}, "HEAD").status, 200);
}

TEST(Pages, WhatIsOfTheApiStaysThere) {
  EXPECT_TRUE(Owns("GET", "/", "text/html"));
  EXPECT_TRUE(Owns("HEAD", "/", "text/html"));
  EXPECT_FALSE(Owns("POST", "/", "text/html"));
  EXPECT_FALSE(Owns("OPTIONS", "/", "text/html"));
  EXPECT_FALSE(Owns("GET", "/", "*/*"));
  EXPECT_FALSE(Owns("GET", "/consoles", "text/html"));
  EXPECT_FALSE(Owns("GET", "/_stator/status", "text/html"));
  EXPECT_FALSE(Owns("GET", "/", "text/html", false));
}

TEST(Pages, SwitchedOffItSaysSo) {
  const http::Reply reply = Ask("/console/", {}, "GET", false);
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.body, "The console is switched off: --console=off\n");
  EXPECT_EQ(Ask("/console/assets/x.js", {}, "GET", false).status, 404);
}

}  // namespace
}  // namespace stator::console
