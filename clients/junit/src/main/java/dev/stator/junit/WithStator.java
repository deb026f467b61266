package dev.stator.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Gives the tests of a class a Stator server and an account of their own on it.
 *
 * <p>Methods and constructors take a {@link StatorAccount}, a {@link StatorServer}, or a value by {@link FromStator} as parameters.
 * Nested classes use the account of the class around them, unless they have this annotation too.
 *
 * <p>The server is started in memory, once for all classes with the same flags, and ends with the run of the tests or the JVM. The
 * binary is that of the configuration parameter {@code stator.binary}, else of the environment's {@code STATOR_BIN}, else {@code
 * stator} of the {@code PATH}. With {@code stator.endpoint}, or {@code STATOR_ENDPOINT}, a server that runs is used. {@code
 * stator.flags} are flags of every server that is started. Configuration parameters of JUnit are system properties or lines of
 * {@code junit-platform.properties}.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@ExtendWith(StatorExtension.class)
public @interface WithStator {
  /** Which tests share an account. */
  enum Isolation {
    /** The class has an account. Classes may run in parallel; the tests of one class run one after the other. */
    CLASS,
    /** Each test has an empty account. All tests may run in parallel. */
    METHOD,
    /**
     * The class has a server, whose default account it uses. For the clock, faults and throttling modes, which all accounts of a
     * server share.
     */
    SERVER
  }

  /**
   * Which tests share an account.
   *
   * @return CLASS by default
   */
  Isolation isolation() default Isolation.CLASS;

  /**
   * Whether each test begins with what {@code @BeforeAll} methods have made: a snapshot is taken before the first test, and the account
   * returns to it before each further one. With METHOD there is nothing to return to.
   *
   * @return true by default
   */
  boolean restore() default true;

  /**
   * Further flags of {@code stator serve}, such as {@code --clock=manual}. Classes with other flags have another server.
   *
   * @return none by default
   */
  String[] flags() default {};
}
