package dev.stator.junit;

import java.lang.reflect.Method;
import java.net.URI;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.platform.commons.support.AnnotationSupport;

/** The extension behind {@link WithStator}. By itself, {@code @ExtendWith(StatorExtension.class)}, it does what the annotation does. */
public final class StatorExtension
    implements BeforeAllCallback, AfterAllCallback, BeforeEachCallback, AfterEachCallback, ParameterResolver {
  private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(StatorExtension.class);
  private static final String ACCOUNT = "account"; // of a test

  /** JUnit calls it. */
  public StatorExtension() {}

  @Override
  public void beforeAll(ExtensionContext context) {
    scopeOf(context);
  }

  @Override
  public void afterAll(ExtensionContext context) {
    Scope scope = store(context).remove(context.getRequiredTestClass(), Scope.class);
    if (scope == null) return; // it was not to be had
    if (scope.parent != null) {
      scope.parent.leave(context.getUniqueId());
    } else if (scope.isolation == WithStator.Isolation.SERVER) {
      scope.server.close();
    } else if (scope.account != null) {
      scope.account.drop();
    }
  }

  @Override
  public void beforeEach(ExtensionContext context) {
    Scope scope = scopeOf(context);
    String name = context.getRequiredTestClass().getSimpleName() + "." + context.getTestMethod().map(Method::getName).orElse("");
    if (scope.account == null) {
      store(context).put(ACCOUNT, scope.server.account(name));
    } else {
      scope.enter(context.getUniqueId(), name);
    }
  }

  @Override
  public void afterEach(ExtensionContext context) {
    Scope scope = scopeOf(context);
    scope.leave(context.getUniqueId());
    scope.server.requireAlive();
    StatorAccount account = store(context).remove(ACCOUNT, StatorAccount.class);
    if (account != null) account.drop();
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    Class<?> type = parameter.getParameter().getType();
    return type == StatorServer.class || type == StatorAccount.class || parameter.isAnnotated(FromStator.class);
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    Class<?> type = parameter.getParameter().getType();
    Scope scope = scopeOf(context);
    if (type == StatorServer.class) return scope.server;
    StatorAccount account = scope.account != null ? scope.account : store(context).get(ACCOUNT, StatorAccount.class);
    if (account == null) {
      throw new ParameterResolutionException("With isolation = METHOD each test has an account, and there is none for "
          + parameter.getDeclaringExecutable() + ": take it as a parameter of @BeforeEach methods and tests.");
    }
    if (type == StatorAccount.class) return account;
    FromStator.Value value = parameter.findAnnotation(FromStator.class).orElseThrow().value();
    if (type == URI.class && value == FromStator.Value.ENDPOINT) return account.endpoint();
    if (type != String.class) {
      throw new ParameterResolutionException("@FromStator(" + value + ") gives a String"
          + (value == FromStator.Value.ENDPOINT ? " or a URI" : "") + ", and " + parameter.getParameter() + " is neither.");
    }
    return switch (value) {
      case ENDPOINT -> account.endpoint().toString();
      case ACCESS_KEY -> account.accessKey();
      case SECRET_KEY -> account.secretKey();
      case REGION -> account.region();
    };
  }

  /** Returns the scope of the context's class, and begins it at the first call: constructors may need it before beforeAll(). */
  private static Scope scopeOf(ExtensionContext context) {
    ExtensionContext ofClass = context;
    while (ofClass.getTestMethod().isPresent() && ofClass.getParent().isPresent()) ofClass = ofClass.getParent().get();
    Class<?> testClass = ofClass.getTestClass().orElseThrow(() -> new StatorException("Only classes of tests can have a server."));
    Scope scope = store(ofClass).get(testClass, Scope.class);
    if (scope == null) {
      scope = begin(ofClass, testClass);
      store(ofClass).put(testClass, scope);
    }
    return scope;
  }

  private static Scope begin(ExtensionContext context, Class<?> testClass) {
    Optional<WithStator> own = AnnotationSupport.findAnnotation(testClass, WithStator.class);
    if (own.isEmpty() && context.getParent().flatMap(ExtensionContext::getTestClass).isPresent()) {
      Scope parent = scopeOf(context.getParent().get());
      parent.enter(context.getUniqueId(), testClass.getSimpleName());
      return new Scope(parent);
    }
    WithStator annotation = own.orElseGet(() -> Defaults.class.getAnnotation(WithStator.class));
    List<String> flags = List.of(annotation.flags());
    if (annotation.isolation() == WithStator.Isolation.SERVER) {
      StatorServer server = Servers.start(context, flags);
      try {
        return new Scope(annotation, server, server.defaultAccount());
      } catch (StatorException error) {
        server.close();
        throw error;
      }
    }
    StatorServer server = store(context.getRoot()).getOrComputeIfAbsent(Servers.class, key -> new Servers(), Servers.class)
        .shared(context, flags);
    boolean isOfClass = annotation.isolation() == WithStator.Isolation.CLASS;
    return new Scope(annotation, server, isOfClass ? server.account(testClass.getSimpleName()) : null);
  }

  private static ExtensionContext.Store store(ExtensionContext context) {
    return context.getStore(NAMESPACE);
  }

  @WithStator
  private static final class Defaults {}
}
