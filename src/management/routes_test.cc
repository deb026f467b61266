#include "management/routes.h"

#include <gtest/gtest.h>

#include "management/reply.h"
#include "management/test_server.h"

namespace stator::management {
namespace {

Routes Sample() {
  Routes routes;
  const auto nothing = [](const Call&) { return Json(200, "{}"); };
  routes.Add({"GET", "/_stator/status", "b", Route::Runs::kReading, nothing});
  routes.Add({"GET", "/_stator/tables/NAME/heat", "c", Route::Runs::kReading, nothing});
  routes.Add({"PUT", "/_stator/faults/NAME", "a", Route::Runs::kHere, nothing});
  routes.Add({"DELETE", "/_stator/faults/NAME", "a", Route::Runs::kHere, nothing});
  return routes;
}

TEST(Routes, FindsByMethodAndPath) {
  const Routes routes = Sample();
  EXPECT_EQ(routes.Find("GET", "/_stator/status").route->does, "b");
  const Routes::Found heat = routes.Find("GET", "/_stator/tables/music/heat");
  ASSERT_NE(heat.route, nullptr);
  EXPECT_EQ(heat.name, "music");
  EXPECT_EQ(routes.Find("PUT", "/_stator/faults/*").name, "*");
  for (const char* path :
       {"/_stator/statu", "/_stator/status/", "/_stator/tables//heat", "/_stator/tables/a/b/heat",
        "/_stator/tables/heat", "/_stator/faults/", "/_stator/tables/music/heat.svg", ""}) {
    const Routes::Found found = routes.Find("GET", path);
    EXPECT_EQ(found.route, nullptr) << path;
    EXPECT_EQ(found.allowed, "") << path;
  }
}

TEST(Routes, AnotherMethodIsToldWhichThereAre) {
  const Routes::Found found = Sample().Find("GET", "/_stator/faults/music");
  EXPECT_EQ(found.route, nullptr);
  EXPECT_EQ(found.allowed, "PUT, DELETE");
}

TEST(Routes, TheIndexHasEveryRowByPath) {
  const Parsed index(Sample().Index());
  EXPECT_EQ(index.Size("/calls"), 4u);
  EXPECT_EQ(index.Text("/calls/0/path"), "/_stator/faults/NAME");
  EXPECT_EQ(index.Text("/calls/0/method"), "PUT");
  EXPECT_EQ(index.Text("/calls/2/path"), "/_stator/status");
  EXPECT_EQ(index.Text("/calls/3/does"), "c");
}

TEST(Parameters, AreDecodedAndChecked) {
  EXPECT_EQ(Parameter("since=3&table=a%2Fb", "table"), "a/b");
  EXPECT_EQ(Parameter("since=3", "table"), std::nullopt);
  EXPECT_EQ(Parameter("table", "table"), "");
  EXPECT_EQ(*WholeParameter("since=3&x", "since", 0), 3);
  EXPECT_EQ(*WholeParameter("", "since", 7), 7);
  for (const char* bad : {"since=", "since=-1", "since=3x", "since=99999999999999999999"})
    EXPECT_FALSE(WholeParameter(bad, "since", 0).ok()) << bad;
}

}  // namespace
}  // namespace stator::management
