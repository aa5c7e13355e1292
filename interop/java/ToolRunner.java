import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;

import org.apache.kafka.common.utils.Exit;

/**
 * Runs Kafka's command-line tools one after another in one JVM, each as if it had a JVM of its own: its own static
 * fields, stdin, stdout, stderr and exit status. The tools are called through their main methods and are not changed.
 *
 * Arguments: the jars that hold the tools (all else is on the class path). Each line on stdin is a class name, stdin
 * and arguments, separated by spaces, all but the first in base 64. Each answer is a line: exit status, stdout, stderr.
 */
public final class ToolRunner {
    private static final class ExitCalled extends Error {
        ExitCalled() {
            super(null, null, false, false);
        }
    }

    private static final List<Runnable> SHUTDOWN_HOOKS = new ArrayList<>();
    private static Integer exitStatus;

    public static void main(String[] jars) throws Exception {
        URL[] urls = new URL[jars.length];
        for (int i = 0; i < jars.length; i++) {
            urls[i] = Path.of(jars[i]).toUri().toURL();
        }
        Exit.setExitProcedure(ToolRunner::exit);
        Exit.setHaltProcedure(ToolRunner::exit);
        Exit.setShutdownHookAdder((name, hook) -> SHUTDOWN_HOOKS.add(hook));
        PrintStream answers = System.out;
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            String[] words = line.split(" ", -1);
            byte[] input = Base64.getDecoder().decode(words[1]);
            String[] arguments = Arrays.stream(words, 2, words.length).map(ToolRunner::decoded).toArray(String[]::new);
            try (URLClassLoader loader = new URLClassLoader(urls, ToolRunner.class.getClassLoader())) {
                answers.println(run(loader, words[0], input, arguments));
                answers.flush();
            }
        }
    }

    private static String run(ClassLoader loader, String tool, byte[] input, String[] arguments) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        System.setIn(new ByteArrayInputStream(input));
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        Thread.currentThread().setContextClassLoader(loader);
        exitStatus = null;
        int status = 0;
        try {
            call(loader, tool, arguments);
        } catch (Throwable thrown) {
            thrown.printStackTrace();
            status = 1;
        }
        if (exitStatus != null) {
            status = exitStatus;
            // Some tools catch whatever ends them: what they say after their exit is not theirs.
            System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        }
        SHUTDOWN_HOOKS.forEach(Runnable::run);
        SHUTDOWN_HOOKS.clear();
        Base64.Encoder base64 = Base64.getEncoder();
        return status + " " + base64.encodeToString(out.toByteArray()) + " " + base64.encodeToString(err.toByteArray());
    }

    private static void exit(int status, String message) {
        if (exitStatus == null) {
            exitStatus = status;
            if (message != null) {
                System.err.println(message);
            }
            System.setOut(new PrintStream(PrintStream.nullOutputStream()));
            System.setErr(new PrintStream(PrintStream.nullOutputStream()));
        }
        throw new ExitCalled();
    }

    private static void call(ClassLoader loader, String tool, String[] arguments) throws Throwable {
        try {
            loader.loadClass(tool).getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
        }
    }

    private static String decoded(String word) {
        return new String(Base64.getDecoder().decode(word), StandardCharsets.UTF_8);
    }
}
