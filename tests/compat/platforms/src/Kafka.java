import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.StreamSupport;
import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.connect.cli.ConnectDistributed;
import org.apache.kafka.connect.cli.ConnectStandalone;
import org.apache.kafka.connect.mirror.MirrorMaker;
import org.apache.kafka.connect.runtime.Connect;

/**
 * Kafka's own programs, as many as are asked for, in one JVM: a line of JSON asks, a line of JSON answers.
 *
 * <p>A JVM for each would be a real test no more than this, and minutes longer.
 */
public final class Kafka {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, AutoCloseable> RUNNING = new HashMap<>();

    interface Answer {
        Map<String, ?> to(JsonNode asked) throws Exception;
    }

    private static final Map<String, Answer> ANSWERS = Map.of(
        "tool", Kafka::tool,
        "standalone", Kafka::standalone,
        "distributed", Kafka::distributed,
        "mirror", Kafka::mirror,
        "stop", Kafka::stop);

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        Exit.setExitProcedure((code, message) -> {
            throw new Ended(code);
        });
        Exit.setHaltProcedure((code, message) -> {
            throw new Ended(code);
        });
        System.setOut(System.err);
        var lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Map<String, ?> answer;
            try {
                JsonNode asked = JSON.readTree(line);
                answer = ANSWERS.get(asked.get("do").asText()).to(asked);
            } catch (Throwable error) {
                error.printStackTrace();
                answer = Map.of("error", error.toString());
            }
            answers.println(JSON.writeValueAsString(answer));
        }
        Runtime.getRuntime().halt(0); // what still runs was left running on purpose
    }

    /** A program wanted to end, and the JVM with it. */
    static final class Ended extends Error {
        static int first = -1;

        Ended(int code) {
            super("exit " + code, null, false, false);
            if (first < 0) {
                first = code;
            }
        }
    }

    private static synchronized Map<String, ?> tool(JsonNode asked) throws Exception {
        var main = Class.forName(asked.get("class").asText()).getMethod("main", String[].class);
        String[] args = StreamSupport.stream(asked.get("args").spliterator(), false)
            .map(JsonNode::asText).toArray(String[]::new);
        var out = new ByteArrayOutputStream();
        var err = new ByteArrayOutputStream();
        PrintStream stdout = System.out, stderr = System.err;
        InputStream stdin = System.in;
        Ended.first = -1;
        var before = Set.copyOf(hooks());
        System.setOut(new PrintStream(out, true));
        System.setErr(new PrintStream(err, true));
        System.setIn(new ByteArrayInputStream(asked.get("input").asText().getBytes()));
        try {
            // Scala keeps the streams it found first; this gives it those of the day.
            scala.Console$.MODULE$.withOut(System.out, () -> scala.Console$.MODULE$.withErr(System.err, () -> {
                try {
                    main.invoke(null, (Object) args);
                } catch (InvocationTargetException thrown) {
                    if (!(thrown.getCause() instanceof Ended)) {
                        thrown.getCause().printStackTrace();
                        Ended.first = Ended.first < 0 ? 1 : Ended.first;
                    }
                } catch (IllegalAccessException impossible) {
                    throw new AssertionError(impossible);
                }
                hooks().stream().filter(hook -> !before.contains(hook)).toList().forEach(Kafka::end);
                return null;
            }));
        } finally {
            System.setOut(stdout);
            System.setErr(stderr);
            System.setIn(stdin);
        }
        return Map.of("exit", Math.max(0, Ended.first), "out", out.toString(), "err", err.toString());
    }

    /** What programs have asked to be done when the JVM ends, which here it does not. */
    @SuppressWarnings("unchecked")
    private static Set<Thread> hooks() {
        try {
            var field = Class.forName("java.lang.ApplicationShutdownHooks").getDeclaredField("hooks");
            field.setAccessible(true);
            return ((Map<Thread, Thread>) field.get(null)).keySet();
        } catch (ReflectiveOperationException impossible) {
            throw new AssertionError(impossible);
        }
    }

    private static void end(Thread hook) {
        Runtime.getRuntime().removeShutdownHook(hook);
        hook.run();
    }

    private static Map<String, String> config(JsonNode asked) {
        Map<String, String> config = new HashMap<>();
        asked.get("config").fields().forEachRemaining(each -> config.put(each.getKey(), each.getValue().asText()));
        return config;
    }

    private static Map<String, ?> standalone(JsonNode asked) {
        var worker = new ConnectStandalone();
        var connect = worker.startConnect(config(asked));
        String[] files = StreamSupport.stream(asked.get("connectors").spliterator(), false)
            .map(JsonNode::asText).toArray(String[]::new);
        worker.processExtraArgs(connect, files);
        return started(connect);
    }

    private static Map<String, ?> distributed(JsonNode asked) {
        return started(new ConnectDistributed().startConnect(config(asked)));
    }

    private static Map<String, ?> started(Connect<?> connect) {
        String rest = connect.rest().advertisedUrl().toString();
        RUNNING.put(rest, () -> {
            connect.stop();
            connect.awaitStop();
        });
        return Map.of("id", rest);
    }

    private static Map<String, ?> mirror(JsonNode asked) {
        MirrorMaker mirror = new MirrorMaker(config(asked));
        mirror.start();
        String id = "mirror " + RUNNING.size();
        RUNNING.put(id, () -> {
            mirror.stop();
            mirror.awaitStop();
        });
        return Map.of("id", id);
    }

    private static Map<String, ?> stop(JsonNode asked) throws Exception {
        RUNNING.remove(asked.get("id").asText()).close();
        return Map.of();
    }
}
